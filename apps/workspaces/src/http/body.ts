import type { IncomingMessage } from 'node:http';
import { Refusal } from '@keystead/refusal';
import { readBody } from '@keystead/server';

/** The largest JSON body: inline state of 16 MiB, as base64, twice. */
const LIMIT_BYTES = 48 * 1024 * 1024;
const DEEPEST = 64;

const ACCEPTED = new Set(['application/vnd.api+json', 'application/json']);

const utf8 = new TextDecoder('utf-8', { fatal: true });

function requireMediaType(header: string | undefined): void {
  const type = (header ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (!ACCEPTED.has(type)) {
    throw new Refusal('media-type', 'send application/vnd.api+json');
  }
}

/** Refuses what the database cannot hold (null characters) and what only an attacker nests. */
function requireSound(value: unknown, depth = 0): void {
  if (typeof value === 'string' && value.includes('\0')) {
    throw new Refusal('malformed', 'the document holds a null character');
  }
  if (typeof value !== 'object' || value === null) {
    return;
  }
  if (depth >= DEEPEST) {
    throw new Refusal('malformed', `the document is nested deeper than ${DEEPEST} levels`);
  }
  for (const inner of Object.values(value)) {
    requireSound(inner, depth + 1);
  }
}

/** Reads and parses a JSON body; undefined when it is empty. Throws `malformed`, `media-type` or `BodyTooLarge`. */
export async function readJson(req: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(req, { limit: LIMIT_BYTES });
  if (bytes.length === 0) {
    return undefined;
  }
  requireMediaType(req.headers['content-type']);
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    requireSound(value);
    return value;
  } catch (error) {
    if (error instanceof Refusal) {
      throw error;
    }
    throw new Refusal('malformed', 'the body is not valid JSON', [], { cause: error });
  }
}
