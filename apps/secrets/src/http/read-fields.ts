import type { IncomingMessage } from 'node:http';
import { Refusal } from '@keystead/refusal';
import {
  BodyAborted,
  BodyLate,
  BodyTooLarge,
  contentCoding,
  GateFull,
  JsonTooMuch,
  nextTurn,
  readBody,
  scanJson,
} from '@keystead/server';
import { tooManyBytes, tooManyValues } from '../pipeline/bounds';
import type { BodyBounds, RequestFields } from '../pipeline/request';
import { parseForm } from './form-body';
import { type BodyFields, parseJsonBody } from './json-body';

/** Larger bodies are read a few at a time: once parsed, they take many times their size. */
const largeBodyBytes = 2 * 1024 * 1024;
/** Fast enough for the largest body to arrive within the time limit of a request. */
const pace = { graceMs: 15_000, bytesPerSecond: 512 * 1024 };
/** Deeper bodies are refused: nothing real nests like that, and every later step may recurse. */
const maxNesting = 500;
/** Up to here a body cannot hold more than any bound allows, and is not looked over first. */
const surelyHarmlessBytes = 900;
/** From here on every step over a body takes a separate turn of the event loop. */
const inStepsBytes = 512 * 1024;

const noFields: RequestFields = { fields: {}, exact: false, bytes: 0, text: '' };

/**
 * Reads the fields of a body: JSON, or a form; a large one once `turn` resolves. Throws `too-large` naming the bound,
 * `malformed`, `media-type`, `timeout` for a sender that is too slow, `unavailable`.
 */
export async function readFields(
  req: IncomingMessage,
  bounds: BodyBounds,
  turn: () => Promise<unknown>,
): Promise<RequestFields> {
  const type = req.headers['content-type'] ?? '';
  if (req.method === 'PATCH') requireMergePatch(type);
  if (bounds.wholeBody?.only && mediaOf(type) !== bounds.wholeBody.media) {
    throw new Refusal('media-type', `Content-Type must be ${bounds.wholeBody.media}`);
  }
  const bytes = await received(req, bounds, turn);
  if (bytes.length === 0) return noFields;
  if (contentCoding(req)) throw new Refusal('media-type', 'Content-Encoding: send the body as it is, not compressed');
  if (bounds.wholeBody) {
    return {
      fields: { [bounds.wholeBody.field]: bytes.toString('base64') },
      exact: false,
      bytes: bytes.length,
      text: bytes,
    };
  }
  const { fields, exact } = isForm(type, bytes)
    ? { fields: parseForm(bytes.toString('utf8'), bounds.values), exact: false }
    : await readJson(bytes, bounds);
  return { fields, exact, bytes: bytes.length, text: bytes };
}

async function readJson(bytes: Buffer, { values }: BodyBounds): Promise<BodyFields> {
  if (bytes.length > surelyHarmlessBytes) await lookOver(bytes, values);
  if (bytes.length <= inStepsBytes) return parseJsonBody(bytes.toString('utf8'));
  await nextTurn();
  const text = bytes.toString('utf8');
  await nextTurn();
  return parseJsonBody(text);
}

async function lookOver(bytes: Buffer, values: number): Promise<void> {
  try {
    await scanJson(bytes, { values, levels: maxNesting });
  } catch (error) {
    if (!(error instanceof JsonTooMuch)) throw error;
    if (error.bound === 'values') throw tooManyValues(values);
    throw new Refusal('malformed', `failed to decode JSON input: exceeded ${maxNesting} levels of nesting`);
  }
}

async function received(req: IncomingMessage, { bytes }: BodyBounds, turn: () => Promise<unknown>): Promise<Buffer> {
  try {
    return await readBody(req, { limit: bytes, pace, large: { above: largeBodyBytes, turn } });
  } catch (error) {
    if (error instanceof BodyTooLarge) throw tooManyBytes(error.limit);
    if (error instanceof GateFull) throw new Refusal('unavailable', error.message);
    if (error instanceof BodyLate) throw new Refusal('timeout', error.message);
    if (error instanceof BodyAborted) throw new Refusal('malformed', error.message, [], { cause: error });
    throw error;
  }
}

// curl calls every body a form unless told otherwise: what begins like JSON is JSON, as clients have always relied on.
function isForm(type: string, bytes: Buffer): boolean {
  if (!type.startsWith('application/x-www-form-urlencoded')) return false;
  for (const c of bytes) {
    if (c === 32 || (c >= 9 && c <= 13)) continue;
    return c !== 123 && c !== 91;
  }
  return true;
}

const mediaOf = (type: string): string => type.split(';')[0]!.trim().toLowerCase();

function requireMergePatch(type: string): void {
  const media = mediaOf(type);
  if (media === '') throw new Refusal('malformed', 'mime: no media type');
  if (media !== 'application/merge-patch+json') {
    throw new Refusal('media-type', `PATCH requires Content-Type of application/merge-patch+json, provided ${media}`);
  }
}
