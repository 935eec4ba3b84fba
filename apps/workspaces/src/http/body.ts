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

/** Known to the platform, not yet to the types of the library that this is compiled against. */
const isWellFormed = (text: string): boolean => (text as unknown as { isWellFormed(): boolean }).isWellFormed();

/** What is wrong with a text for the database: null characters and halves of characters. */
function flawOf(text: string): string | undefined {
  if (text.includes('\0')) return 'holds a null character';
  return isWellFormed(text) ? undefined : 'contains half of a character';
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
 * Refuses what the database cannot hold (null characters, halves of characters), and lists of more members than any may
 * have. `at` is where the value stands; it is as before once the value was looked at.
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
      throw new Refusal('too-large', `${where.slice(0, 1000)} holds more than ${maxListMembers} members`);
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
 * Reads and parses the JSON body of an endpoint; undefined when it is empty. Of an unknown sender less is taken; a large
 * one is left on the wire until `turn` resolves. Throws `malformed`, `media-type`, `too-large`, `BodyTooLarge`,
 * `BodyLate`, or what `turn` throws.
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

/** Nothing here undoes compression. Throws `media-type`. */
function requirePlain(req: IncomingMessage): void {
  if (contentCoding(req)) throw new Refusal('media-type', 'Content-Encoding: send the body as it is, not compressed');
}

/** The body of an endpoint that reads it as it comes. Throws `media-type`. */
export function readStream(req: IncomingMessage): AsyncIterable<Uint8Array> {
  requirePlain(req);
  return atPace(req);
}

async function lookOver(bytes: Buffer, values: number): Promise<void> {
  try {
    await scanJson(bytes, { values, levels: DEEPEST });
  } catch (error) {
    if (!(error instanceof JsonTooMuch)) throw error;
    if (error.bound === 'values') throw new Refusal('too-large', `the request body holds more than ${values} values`);
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
