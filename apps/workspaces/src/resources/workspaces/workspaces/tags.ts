import { invalid, type SentKind, type SentReference } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';

const LONGEST_NAME = 255;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9:_-]*[A-Za-z0-9])?$/;
const MOST_TAGS = 1000;

/** Tags by their names instead of their ids; new names create tags. */
export const tagsByName: SentKind = {
  type: 'tags',
  attributes: { name: { type: 'string', maxLength: LONGEST_NAME, pattern: NAME.source } },
};

function requireName(name: string): void {
  if (name.length > LONGEST_NAME) throw invalid('tags', `Tags must have no more than ${LONGEST_NAME} characters`);
  if (!NAME.test(name)) {
    const may = 'Tags must only contain letters, numbers, colons, hyphens or underscores';
    throw invalid('tags', `${may}, and begin and end with a letter or number`);
  }
}

/** The names and ids of tags in a request. Throws `invalid` for an item without a name and an id. */
export function readTags(sent: readonly SentReference[]): { names: string[]; ids: string[] } {
  if (sent.length > MOST_TAGS) throw invalid('tags', `has too many members (maximum is ${MOST_TAGS})`);
  const names = new Set<string>();
  const ids = new Set<string>();
  for (const { id, attributes } of sent) {
    const name = attributes?.name;
    if (typeof name === 'string') {
      names.add(name);
    } else if (name !== undefined) {
      throw invalid('tags', 'must have strings as names');
    } else if (id !== undefined && id !== '') {
      ids.add(id);
    } else {
      throw invalid('tags', 'must each have an id or a name');
    }
  }
  return { names: [...names], ids: [...ids] };
}

/**
 * Adds tags to a workspace in the given order, and creates tags that are new to the organization. Throws `invalid` for
 * an invalid name.
 */
export async function attachTags(
  db: Database,
  organizationId: string,
  workspaceId: string,
  sent: readonly SentReference[],
): Promise<void> {
  const { names, ids } = readTags(sent);
  const { prisma } = db;
  for (const name of names) requireName(name);
  if (names.length > 0) {
    // In name order, so that two requests cannot deadlock.
    const data = [...names].sort().map((name) => ({ id: newId('tag'), organizationId, name }));
    await prisma.tag.createMany({ data, skipDuplicates: true });
  }
  const tags = await prisma.tag.findMany({
    where: { organizationId, OR: [{ name: { in: names } }, { id: { in: ids } }] },
    select: { id: true, name: true },
  });
  const existingIds = new Set(tags.map(({ id }) => id));
  if (ids.some((id) => !existingIds.has(id))) throw notFound();
  const byName = new Map(tags.map(({ id, name }) => [name, id]));
  const ordered = new Set([...names.map((name) => byName.get(name)!), ...ids]);
  await prisma.workspaceTag.createMany({
    data: [...ordered].map((tagId) => ({ workspaceId, tagId })),
    skipDuplicates: true,
  });
}
