import { ExactNumber } from '@keystead/envelope';
import { z } from 'zod';
import {
  Failure,
  fieldProblem,
  maxElements,
  shown,
  toBool,
  toInt,
  toList,
  toObject,
  toObjects,
  tooManyElements,
  toPairs,
  toSeconds,
  toText,
} from './coerce';
import { withoutOuterSlashes } from './path-text';

/**
 * Lenient wire fields: each accepts what clients of this protocol really send, answers one clean type, refuses with the
 * exact text clients match on, and carries its own JSON schema (`meta.json`), because a transform cannot be exported.
 * `undefined` and null never reach a field: null means not given, and is dropped before parsing.
 */
export interface FieldMeta {
  readonly json: Readonly<Record<string, unknown>>;
  /** Of a secret that is stored: the fields that decide where it is sent; none if it never leaves. */
  readonly sentTo?: readonly string[];
  /** What it makes of a value: all that the operation learns of it, and what rules about parameters go by. */
  readonly read: Convert<unknown>;
  /** Of a list or map: what null says, which is that there is nothing in it. */
  readonly empty?: unknown;
  /** It holds elements that rules about parameters judge one by one. */
  readonly several?: true;
  /** Numbers inside keep their digits; inside of other fields they are plain. */
  readonly exact?: true;
  /** Its text is JSON or in another language. */
  readonly document?: true;
  /** The operation reads it without regard to case. */
  readonly anyCase?: true;
  /** The newer name of the same field. */
  readonly olderNameOf?: string;
}

/** What a document says of a field besides its type. */
export interface FieldFacts {
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** Answers show it as this field. */
  readonly 'x-shown-as'?: string;
  /** It is never shown: it does something, or is kept secret. */
  readonly writeOnly?: true;
}

/**
 * A field with facts for the document that it does not look after itself: bounds and choices that the operation judges, in
 * its own words, and the default that it puts in place of nothing.
 */
export const announced = <T extends z.ZodType>(type: T, facts: FieldFacts): T =>
  type.meta({ json: { ...(type.meta() as unknown as FieldMeta).json, ...facts } });

/** A second name of a field. */
export const olderName = <T extends z.ZodType>(type: T, of: string) =>
  announced(type, { 'x-shown-as': of }).meta({ olderNameOf: of }).optional().describe(`Older name of ${of}.`);

/** A field whose text the operation reads without regard to case, such as names of policies. */
export const anyCase = <T extends z.ZodType>(type: T): T => type.meta({ anyCase: true });

/**
 * A text in JSON or another language, which can say the same in many ways: a rule that denies single values denies it, and one that
 * allows single values compares it letter by letter.
 */
export const document = <T extends z.ZodType>(type: T): T => type.meta({ document: true });

/** A field that says how to do what is asked, and is not kept. */
export const notKept = <T extends z.ZodType>(type: T): T => announced(type, { writeOnly: true });

type Convert<T> = (value: unknown) => T | Failure;

/** A field read by a rule that only it needs; `hidden` keeps its values out of error texts. */
export function field<T>(
  json: Record<string, unknown>,
  convert: Convert<T>,
  hidden = false,
  facts?: Partial<FieldMeta>,
) {
  return z
    .unknown()
    .transform((value, ctx): T => {
      if (value === undefined) {
        ctx.issues.push({ code: 'custom', message: 'required', params: { missing: true }, input: value });
        return z.NEVER;
      }
      const result = convert(value);
      if (!(result instanceof Failure)) return result;
      ctx.issues.push({
        code: 'custom',
        message: result.message,
        params: { whole: result.whole, hidden },
        input: value,
      });
      return z.NEVER;
    })
    .meta({ json, read: convert, ...facts });
}

/** A string; numbers and booleans are taken as their text. */
export const string = () => field({ type: 'string' }, (value) => toText(value));

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const foldId = (text: string) => (uuid.test(text) ? text.toLowerCase() : text);

/** An id, in its one spelling as in paths: what is locked, sealed and remembered by it would not be found under another. */
export const id = () =>
  field({ type: 'string' }, (value) => {
    const text = toText(value);
    return text instanceof Failure ? text : foldId(text);
  });

const hiddenText = (convert: Convert<string>) =>
  field(
    { type: 'string', format: 'password' },
    (value) => {
      const text = convert(value);
      return text instanceof Failure ? new Failure(text.message.replace(/, value: .*$/s, '')) : text;
    },
    true,
  );

/** A string that is kept out of every error text. */
export const secretString = () => hiddenText(toText);

/** What a header of HTTP cannot carry: a token pasted with its line end, for one. */
const uncarried = /[^\t\x20-\x7e\x80-\xff]/;

const toHeader = (value: unknown) => {
  const text = toText(value);
  if (text instanceof Failure || !uncarried.test(text)) return text;
  return new Failure('holds a line end or another character that no header can carry');
};

/** A string that is sent to another system in a header. */
export const header = () => field({ type: 'string' }, toHeader);

/** The same, kept out of every error text. */
export const secretHeader = () => hiddenText(toHeader);

/**
 * A stored secret that goes where these fields say. A caller without the secret could change one of them to have it sent to
 * their own address: a write that merges must send it again.
 */
export const sentTo = <T extends z.ZodType>(secret: T, ...fields: readonly [string, ...string[]]): T =>
  secret.meta({ ...secret.meta(), sentTo: fields });

/** A stored secret that no field sends elsewhere: it signs, only its hash is kept, or the places it goes to are built in. */
export const notRedirectable = <T extends z.ZodType>(secret: T): T => secret.meta({ ...secret.meta(), sentTo: [] });

/** A string out of a closed list, compared exactly; `text` is the whole refusal. */
export const oneOf = <const T extends readonly string[]>(values: T, text?: (value: string) => string) =>
  field<T[number]>({ type: 'string', enum: [...values] }, (value) => {
    const given = toText(value);
    if (given instanceof Failure) return given;
    if (values.includes(given)) return given;
    return text ? new Failure(text(given), true) : new Failure(`must be one of ${values.join(', ')}`);
  });

/** A whole number, from a number or numeric text. */
export const int = () => field({ type: 'integer' }, toInt);

/** A number that need not be whole, from a number or its digits; `text` is the whole refusal. */
export const decimal = (text: string) =>
  field({ type: 'number' }, (value) => {
    const digits = typeof value === 'boolean' ? new Failure(text, true) : toText(value);
    const isNumber = !(digits instanceof Failure) && /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(digits);
    return isNumber && Number.isFinite(Number(digits)) ? Number(digits) : new Failure(text, true);
  });

/** True or false, also from text (`"true"`, `"0"`) and from 1 and 0. */
export const bool = () => field({ type: 'boolean' }, toBool);

/** A lifetime in whole seconds: from a number, numeric text, or text with units (`1h30m`, `1d`). Negatives are refused. */
export const duration = () =>
  field({ type: 'string', format: 'duration', description: 'Seconds, or text with a unit such as 30s or 1h.' }, (v) => {
    const seconds = toSeconds(v);
    return typeof seconds === 'number' && seconds < 0
      ? new Failure(`cannot provide negative value '${seconds}'`)
      : seconds;
  });

/** A lifetime that may be negative; what a negative one means is said by the operation. */
export const signedDuration = () => field({ type: 'string', format: 'duration' }, toSeconds);

/** A lifetime whose refusals clients know as a whole: each is made of the problem, or of a negative value. */
export const namedDuration = (words: {
  readonly none: readonly unknown[];
  problem(text: string): string;
  negative(value: unknown): string;
}) =>
  field({ type: 'string', format: 'duration' }, (value) => {
    if (words.none.includes(value instanceof ExactNumber ? Number(value) : value)) return 0;
    const seconds = toSeconds(value);
    if (seconds instanceof Failure) return new Failure(words.problem(seconds.message), true);
    return seconds < 0 ? new Failure(words.negative(value), true) : seconds;
  });

/** A list from an array, or from text split at commas; elements trimmed, empty ones dropped. */
export const commaList = () => several(listOfText, toCommaList);

/** The same of ids, each in its one spelling. */
export const idList = () =>
  several(listOfText, (value) => {
    const list = toCommaList(value);
    return list instanceof Failure ? list : list.map(foldId);
  });

/** A list of whole numbers, from an array or from text split at commas; `text` is the whole refusal. */
export const intList = (text: string) =>
  several({ ...listOfText, items: { type: 'integer' } }, (value) => {
    const list = typeof value === 'string' ? splitAtCommas(value) : [value].flat();
    if (list instanceof Failure) return list;
    const numbers = list.map((item) => (item === '' ? new Failure(text) : toInt(item)));
    return numbers.every((number) => typeof number === 'number') ? numbers : new Failure(text, true);
  });

/** A path with or without slashes at its ends. */
export const mountPath = () =>
  field({ type: 'string' }, (value) => {
    const text = toText(value);
    return text instanceof Failure ? text : withoutOuterSlashes(text);
  });

function toCommaList(value: unknown): string[] | Failure {
  const list = typeof value === 'string' ? splitAtCommas(value) : toList(value);
  return list instanceof Failure ? list : list.map((item) => item.trim()).filter((item) => item !== '');
}

/** A list from an array; a lone text becomes one element, commas and all. Elements are trimmed. */
export const stringList = () =>
  several(listOfText, (value) => {
    const list = toList(value);
    return list instanceof Failure ? list : list.map((item) => item.trim());
  });

const listOfText = { type: 'array', items: { type: 'string' }, maxItems: maxElements };

/** A field of several elements, which are counted before anything is made of them, and after. */
function several<T>(json: Record<string, unknown>, convert: Convert<T>) {
  const counted = (value: unknown) => {
    const failure = tooManyElements(value);
    if (failure) return failure;
    const result = convert(value);
    return result instanceof Failure ? result : (tooManyElements(result) ?? result);
  };
  return field(json, counted, false, { empty: json.type === 'array' ? [] : {}, several: true });
}

/** Splits no further than what is refused anyway. */
function splitAtCommas(text: string): string[] | Failure {
  const pieces = text.split(',', maxElements + 1);
  return tooManyElements(pieces) ?? pieces;
}

/** A map of text to text: from an object, a list of `key=value`, or one such text. */
export const keyValues = () =>
  several<Record<string, string>>(
    { type: 'object', additionalProperties: { type: 'string' }, maxProperties: maxElements },
    toPairs,
  );

/** An object of any JSON values. */
export const object = () =>
  field<Record<string, unknown>>({ type: 'object' }, (value) => toObject(value), false, { empty: {}, several: true });

/** An object of fields that are read like those of a body; other keys are left out or, if strict, refused. */
export const nested = <S extends z.ZodObject>(name: string, inner: S, nothing: readonly unknown[] = [null]) =>
  field<Partial<z.output<S>>>(
    { type: 'object' },
    (value) => {
      const object = toObject(value);
      if (object instanceof Failure) return object;
      const given = Object.fromEntries(Object.entries(object).filter(([, item]) => !nothing.includes(item)));
      const parsed = inner.partial().safeParse(given);
      if (parsed.success) return parsed.data as Partial<z.output<S>>;
      const { path, message, params } = parsed.error.issues[0] as z.core.$ZodIssueCustom;
      const key = String(path[0] ?? Object.keys(given).find((one) => !(one in inner.shape)));
      if (path.length === 0) return new Failure(`${name}: unknown field ${key}`, true);
      return new Failure(params?.whole ? message : fieldProblem(`${name}.${key}`, shown(given[key]), message), true);
    },
    false,
    { empty: {}, several: true },
  );

/** An object of any JSON values, its numbers with the digits they were sent with. */
export const exactObject = () => object().meta({ exact: true });

/** A list of objects of any JSON values. */
export const objectList = () =>
  several<Record<string, unknown>[]>({ type: 'array', items: { type: 'object' }, maxItems: maxElements }, toObjects);

/** Any JSON value, as it came. */
export const anything = () => field<unknown>({}, (value) => value);
