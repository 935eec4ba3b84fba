import { Prisma } from '../../generated/prisma/client';
import type { Tx } from '../storage/types';

/** The number of rows that long listings read at a time, so that other requests run between two pages. */
const AT_ONCE = 1000;

/** Reads rows in pages, each after the last row of the previous page, until the end or the requested number. */
export async function readInPages<Row>(
  limit: number | undefined,
  read: (last: Row | undefined, take: number) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const take = Math.min(AT_ONCE, (limit ?? Infinity) - all.length);
    if (take <= 0) return all;
    const page = await read(all.at(-1), take);
    all.push(...page);
    if (page.length < take) return all;
  }
}

const SHAPE = '00000000-0000-0000-0000-000000000000';
const DIGITS = '0123456789abcdef';

/** The ids after a string, bytewise; the string need not be an id. */
export function idsAfter(text: string): { gt: string } | { gte: string } {
  for (let at = 0; at < SHAPE.length; at++) {
    const start = text.slice(0, at);
    const allowed = SHAPE[at] === '-' ? '-' : DIGITS;
    const character = text[at];
    if (character === undefined) return { gte: start + SHAPE.slice(at) };
    if (allowed.includes(character)) continue;
    const next = [...allowed].find((one) => one > character);
    if (next !== undefined) return { gte: start + next + SHAPE.slice(at + 1) };
    return { gt: start + SHAPE.slice(at).replaceAll('0', 'f') };
  }
  return { gt: text.slice(0, SHAPE.length) };
}

/** The id of an entity or group by its name in any case; an index holds it in lower case. */
export async function idOfName(
  prisma: Pick<Tx['prisma'], '$queryRaw'>,
  table: 'entity' | 'group',
  namespaceId: string,
  name: string,
): Promise<string | undefined> {
  const rows = await prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM ${Prisma.raw(`"${table}"`)} WHERE ${byName(namespaceId, name)}`;
  return rows[0]?.id;
}

/** The condition for a name in any case. */
export const byName = (namespaceId: string, name: string): Prisma.Sql =>
  Prisma.sql`namespace_id = ${namespaceId}::uuid AND lower(name) = lower(${name}::text COLLATE "C")`;

/** The condition for an id in a namespace. */
export const numbered = (namespaceId: string, id: string): Prisma.Sql =>
  Prisma.sql`namespace_id = ${namespaceId}::uuid AND id = ${id}::uuid`;
