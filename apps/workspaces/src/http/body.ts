import type { IncomingMessage } from 'node:http';
import { parseExact } from '@keystead/envelope';
import { LargeText, maxListMembers, parseWithLargeTexts } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { atPace, BodyTooLarge, contentCoding, JsonTooMuch, nextTurn, readBody, scanJson } from '@keystead/server';
import { bodyBytes, bodyValues, type Endpoint, type LargeBody, unknownBody } from '../kernel/endpoints/endpoint';

const DEEPEST = 64;

const ACCEPTED = ['application/vnd.api+json', 'application/json'] as const;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function requireMediaType(header: string | undefined, accepted: readonly [string, ...string[]]): void {
  const type = (header ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (!accepted.includes(type)) throw new Refusal('media-type', `send ${accepted[0]}`);
}

/** Node has this function; the types that we compile with do not have it yet. */
const isWellFormed = (text: string): boolean => (text as unknown as { isWellFormed(): boolean }).isWellFormed();

/** The reason why the database cannot store a string: null characters or lone surrogates. */
function flawOf(text: string): string | undefined {
  if (text.includes('\0')) return 'contains a null character';
  return isWellFormed(text) ? undefined : 'contains an unpaired surrogate';
}

function requireText(text: string, at: readonly (string | number)[]): void {
  const flaw = flawOf(text);
  if (flaw !== undefined) {
    throw new Refusal(
      'malformed',
      `/${at.join('/')} ${flaw}`,
      at[0] === 'data' ? [{ path: [...at], message: flaw }] : [],
    );
  }
}

/**
 * Refuses strings that the database cannot store (null characters, lone surrogates) and lists that are too long for any
 * field. `at` is the path of the value; it is unchanged afterwards.
 */
function requireSound(value: unknown, at: (string | number)[]): void {
  if (typeof value === 'string') {
    requireText(value, at);
    return;
  }
  if (typeof value !== 'object' || value === null || value instanceof LargeText) return;
  if (Array.isArray(value)) {
    if (value.length > maxListMembers) {
      const where = at.map((step) => `/${typeof step === 'number' ? '*' : step}`).join('');
      throw new Refusal('too-large', `${where.slice(0, 1000)} contains more than ${maxListMembers} members`);
    }
    for (let index = 0; index < value.length; index++) {
      at.push(index);
      requireSound(value[index], at);
      at.pop();
    }
    return;
  }
  for (const [key, inner] of Object.entries(value)) {
    requireText(key, at);
    at.push(key);
    requireSound(inner, at);
    at.pop();
  }
}

/**
 * Reads and parses the JSON body of an endpoint; undefined if it is empty. Unknown senders may send less. A large body
 * is not read until `turn` resolves. Throws `malformed`, `media-type`, `too-large`, `BodyTooLarge`, `BodyLate`, or what
 * `turn` throws.
 */
export async function readJson(
  req: IncomingMessage,
  { largeBody, dialect }: Pick<Endpoint, 'largeBody' | 'dialect'>,
  known: boolean,
  turn: () => Promise<unknown>,
): Promise<unknown> {
  const most = known ? bodyBytes : unknownBody.bytes;
  const bytes =
    largeBody === undefined || !known ? await readBody(req, { limit: most }) : await readLarge(req, largeBody, turn);
  if (bytes.length === 0) return undefined;
  requirePlain(req);
  requireMediaType(req.headers['content-type'], dialect?.mediaTypes ?? ACCEPTED);
  await lookOver(bytes, known ? bodyValues : unknownBody.values);
  try {
    const large = bytes.length > bodyBytes;
    const value: unknown = large
      ? parseWithLargeTexts(bytes, parseExact)
      : (largeBody ? parseExact : JSON.parse)(utf8.decode(bytes));
    if (large) {
      await nextTurn();
    }
    requireSound(value, []);
    return value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('malformed', 'the body is not valid JSON', [], { cause: error });
  }
}

/** Compressed bodies are not supported. Throws `media-type`. */
function requirePlain(req: IncomingMessage): void {
  if (contentCoding(req)) throw new Refusal('media-type', 'Content-Encoding: send the body as it is, not compressed');
}

/** The body of an endpoint that reads it as a stream. Throws `media-type`. */
export function readStream(req: IncomingMessage): AsyncIterable<Uint8Array> {
  requirePlain(req);
  return atPace(req);
}

async function lookOver(bytes: Buffer, values: number): Promise<void> {
  try {
    await scanJson(bytes, { values, levels: DEEPEST });
  } catch (error) {
    if (!(error instanceof JsonTooMuch)) throw error;
    if (error.bound === 'values')
      throw new Refusal('too-large', `the request body contains more than ${values} values`);
    throw new Refusal('malformed', `the document is nested deeper than ${DEEPEST} levels`);
  }
}

async function readLarge(req: IncomingMessage, { bytes, instead }: LargeBody, turn: () => Promise<unknown>) {
  try {
    return await readBody(req, { limit: bytes, large: { above: bodyBytes, turn } });
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    throw new Refusal('too-large', `${error.message}; ${instead}`);
  }
}
