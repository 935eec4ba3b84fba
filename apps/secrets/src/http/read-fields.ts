import type { IncomingMessage } from 'node:http';
import { ExactNumber, mayBeInexact, parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import {
  arrivedBody,
  BodyAborted,
  BodyLate,
  BodyTooLarge,
  contentCoding,
  GateFull,
  JsonTooMuch,
  nextTurn,
  readBody,
  scanJson,
  scanJsonAtOnce,
} from '@keystead/server';
import { type BodyBounds, nothingSent, type RequestFields, tooManyBytes, tooManyValues } from '../pipeline/request';

/** Larger bodies are parsed a few at a time, because parsed bodies take many times their size. */
const largeBodyBytes = 2 * 1024 * 1024;
/** The minimum speed of a body. At this speed, the largest body arrives within the time limit of a request. */
const pace = { graceMs: 15_000, bytesPerSecond: 512 * 1024 };
/** More deeply nested bodies are refused. No real body nests like that, and every later step may recurse. */
const maxNesting = 500;
/** A body up to this size cannot exceed any limit, so it is not scanned first. */
const surelyHarmlessBytes = 900;
/** From this size on, every step over a body takes a separate turn of the event loop. */
const inStepsBytes = 512 * 1024;

/**
 * Reads the fields of a body, JSON or a form; waits for `turn` before it reads a large body. Throws `too-large` naming
 * the limit, `malformed`, `media-type`, `unavailable`, and `timeout` for a sender that is too slow.
 */
export function readFields(
  req: IncomingMessage,
  bounds: BodyBounds,
  turn: () => Promise<unknown>,
): RequestFields | Promise<RequestFields> {
  const type = req.headers['content-type'] ?? '';
  if (req.method === 'PATCH') requireMergePatch(type);
  if (bounds.wholeBody?.only && mediaOf(type) !== bounds.wholeBody.media) {
    throw new Refusal('media-type', `Content-Type must be ${bounds.wholeBody.media}`);
  }
  // Usually the body has already arrived.
  const arrived = arrivedBody(req, bounds.bytes);
  if (arrived !== undefined) return fieldsIn(req, type, arrived, bounds);
  return received(req, bounds, turn).then((bytes) => fieldsIn(req, type, bytes, bounds));
}

function fieldsIn(
  req: IncomingMessage,
  type: string,
  bytes: Buffer,
  bounds: BodyBounds,
): RequestFields | Promise<RequestFields> {
  if (bytes.length === 0) return nothingSent;
  if (contentCoding(req)) throw new Refusal('media-type', 'Content-Encoding: send the body as it is, not compressed');
  const whole = (fields: RequestFields['fields'], exact: boolean) => ({
    fields,
    exact,
    bytes: bytes.length,
    text: bytes,
  });
  if (bounds.wholeBody) return whole({ [bounds.wholeBody.field]: bytes.toString('base64') }, false);
  if (isForm(type, bytes)) return whole(parseForm(bytes.toString('utf8'), bounds.values), false);
  if (bytes.length > inStepsBytes) return readInSteps(bytes, bounds).then(({ fields, exact }) => whole(fields, exact));
  const mayHoldNumbers = bytes.length <= surelyHarmlessBytes || lookOver(bytes, bounds.values);
  const { fields, exact } = parseJsonBody(bytes.toString('utf8'), mayHoldNumbers);
  return whole(fields, exact);
}

async function readInSteps(bytes: Buffer, { values }: BodyBounds): Promise<BodyFields> {
  const scanning = scanJson(bytes, { values, levels: maxNesting });
  const mayHoldNumbers = await scanning.catch((error) => refuseMuch(error, values));
  await nextTurn();
  const text = bytes.toString('utf8');
  await nextTurn();
  return parseJsonBody(text, mayHoldNumbers);
}

function lookOver(bytes: Buffer, values: number): boolean {
  try {
    return scanJsonAtOnce(bytes, { values, levels: maxNesting });
  } catch (error) {
    return refuseMuch(error, values);
  }
}

function refuseMuch(error: unknown, values: number): never {
  if (!(error instanceof JsonTooMuch)) throw error;
  if (error.bound === 'values') throw tooManyValues(values);
  throw new Refusal('malformed', `failed to decode JSON input: exceeded ${maxNesting} levels of nesting`);
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

// By default, curl labels every body as a form. So a body that begins like JSON is parsed as JSON, and clients rely on
// this.
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

/** The fields of a body, and whether any number in them is stored as digits. */
export interface BodyFields {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly exact: boolean;
}

const halfOfCharacter = /\p{Surrogate}/u;
/** A lone surrogate can come only from an escape, because UTF-8 has none. */
const mayHoldHalves = /\\u[dD][89a-fA-F]/;

/**
 * Reads a JSON object that was scanned before. Of duplicate keys the last one wins. Numbers keep their digits. Throws
 * `malformed`; the text quotes at most one character of the body, and names of fields.
 */
function parseJsonBody(text: string, mayHoldNumbers: boolean): BodyFields {
  const exact = mayHoldNumbers && mayBeInexact(text);
  const value = exact ? parseExactly(text) : parseNatively(text);
  if (value === null) return { fields: {}, exact: false };
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof ExactNumber) {
    const kind = Array.isArray(value)
      ? 'array'
      : value instanceof ExactNumber
        ? 'number'
        : typeof value === 'boolean'
          ? 'bool'
          : typeof value;
    const text = `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
    throw new Refusal('malformed', `failed to decode JSON input: ${text}`);
  }
  if (mayHoldHalves.test(text)) requireWhole(value, []);
  return { fields: value as Record<string, unknown>, exact };
}

/**
 * Other systems replace lone surrogates or refuse the whole answer, so a client would not read back the value that it
 * sent.
 */
function requireWhole(value: unknown, at: string[]): void {
  if (typeof value === 'string' && halfOfCharacter.test(value)) {
    throw new Refusal('malformed', `${at.join('.') || 'the body'} contains an unpaired surrogate`);
  }
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return;
  for (const [key, inner] of Object.entries(value)) {
    requireWhole(key, at);
    at.push(key);
    requireWhole(inner, at);
    at.pop();
  }
}

function parseNatively(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw undecodable(text, error);
  }
}

function parseExactly(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    // The message of the native parser has the position; the exact parser is not run twice.
    try {
      JSON.parse(text);
    } catch (native) {
      throw undecodable(text, native);
    }
    throw undecodable(text, error);
  }
}

function undecodable(text: string, error: unknown): Refusal {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  const at = position === undefined ? undefined : text.charAt(Number(position));
  return new Refusal(
    'malformed',
    at
      ? `failed to decode JSON input: invalid character ${at === "'" ? `'\\''` : `'${printable(at)}'`}`
      : 'failed to decode JSON input: unexpected end of JSON input',
  );
}

function printable(character: string): string {
  return character < ' ' ? JSON.stringify(character).slice(1, -1) : character;
}

/** Forms are for requests typed by hand; larger bodies are sent as JSON. */
const maxFormBytes = 1024 * 1024;

/** Reads the fields of a form; a repeated field becomes a list. Throws `too-large`. */
function parseForm(text: string, maxValues: number): Record<string, unknown> {
  if (text.length > maxFormBytes) throw tooManyBytes(maxFormBytes);
  let pairs = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    if (++pairs > maxValues) throw tooManyValues(maxValues);
  }
  return pairFields(new URLSearchParams(text));
}

/** Fields from pairs of names and strings; a repeated name becomes a list. */
export function pairFields(pairs: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of pairs) {
    const before = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (before === undefined) {
      // An assignment would lose a name that has a special meaning, such as `__proto__`.
      Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
    } else if (Array.isArray(before)) before.push(value);
    else fields[key] = [before, value];
  }
  return fields;
}
