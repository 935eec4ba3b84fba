import { ExactNumber } from '@keystead/envelope';
import { badParameter, camel, dashed, freeForm, type Query } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { endpoints, type Raw } from '../../../kernel/endpoints/endpoint';
import { serialIn } from '../../states/state-versions/scanner/parse-state';

/** Declares an endpoint for agents. */
export const { raw } = endpoints({} as Policy<undefined>, undefined, { organizationsOf: () => [] });

/** The options of all endpoints for agents. */
export const forAgents = { outside: true, tokens: ['agent'], turns: false } as const;
/** The options of endpoints about work that an agent takes or holds. Its lease is checked where the work is stored. */
export const aboutWork = { ...forAgents, refuses: [403, 409], acceptsLate: true } as const;

/** The answer without content. */
export const noContent: Raw = { status: 204, headers: {} };

/** A plain JSON body with a given shape. */
export function bodyOf<T>(shape: z.ZodType<T>) {
  return freeForm(
    (raw) => {
      const read = shape.safeParse(raw);
      if (read.success) return read.data;
      const issues = read.error.issues.map(({ path, message }) => ({
        // In a body that is a whole document, the path begins with `data`.
        path: path[0] === 'data' ? path.map(String) : ['data', ...path.map(String)],
        message: `${path.join('.') || 'the body'}: ${message}`,
      }));
      throw new Refusal('invalid', '', issues);
    },
    schemaOf(shape),
    false,
  );
}

/** The schema of a shape, for the API description. */
function schemaOf(shape: z.ZodType, io: 'input' | 'output' = 'input'): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { target: 'openapi-3.0', io, unrepresentable: 'any' });
  return schema as Record<string, unknown>;
}

/** The description of a plain JSON answer with a given shape. */
export const described = (description: string, shape: z.ZodType) => ({
  description,
  type: 'application/json',
  schema: schemaOf(shape, 'output'),
});

/** A plain JSON answer. */
export const json = (value: object, status = 200): Raw => ({
  status,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
});

/** A whole number in the query. Throws `malformed`. */
export function numberOf({ query }: { query: Query }, name: string): number {
  const text = query.get(name) ?? '';
  if (!/^\d{1,15}$/.test(text)) throw badParameter(name, `${name} must be a whole number`);
  return Number(text);
}

/** The serial of a state. */
export function serialOf({ query }: { query: Query }): bigint {
  const serial = serialIn(new ExactNumber(query.get('serial') ?? ''));
  if (serial === undefined) throw badParameter('serial', 'serial must be a whole number of at most 63 bits');
  return serial;
}

/** All bytes of a body. Throws `too-large` if they exceed the limit. */
export async function gather(
  stream: AsyncIterable<Uint8Array> | undefined,
  limit: number,
  what: string,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream ?? []) {
    size += piece.length;
    if (size > limit) throw new Refusal('too-large', `${what} is larger than ${limit} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const renamed = (value: object, name: (key: string) => string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, one]) => [name(key), one]));

/** An object with the wire names: `run-id` for `runId`. */
export const toWire = (value: object): Record<string, unknown> => renamed(value, dashed);

/** An object with our own names instead of the wire names. */
export const fromWire = (value: object): Record<string, unknown> => renamed(value, camel);
