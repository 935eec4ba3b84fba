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
 * Lenient wire fields. Each accepts the forms that clients of this protocol send, returns one type, refuses with the
 * exact message that clients match, and has its own JSON schema (`meta.json`), because a transform cannot be exported.
 * `undefined` and null never reach a field: null means absent, and is removed before parsing.
 */
export interface FieldMeta {
  readonly json: Readonly<Record<string, unknown>>;
  /** For a stored secret: the fields that determine where it is sent; empty if it is never sent. */
  readonly sentTo?: readonly string[];
  /** Parses a value. The operation and the parameter rules of policies use only the result. */
  readonly read: Convert<unknown>;
  /** For a list or map: the empty value, which is used if the value is null. */
  readonly empty?: unknown;
  /** Whether the value has elements that the parameter rules of policies check one by one. */
  readonly several?: true;
  /** Whether numbers in the value keep their digits. In other fields they become plain numbers. */
  readonly exact?: true;
  /** Whether the value is text in JSON or another language. */
  readonly document?: true;
  /** Whether the operation ignores its case. */
  readonly anyCase?: true;
  /** The newer name of the same field. */
  readonly olderNameOf?: string;
}

/** The description of a field in the document, in addition to its type. */
export interface FieldFacts {
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** The field under which answers show the value. */
  readonly 'x-shown-as'?: string;
  /** Whether the field is never shown, because it triggers an action or is secret. */
  readonly writeOnly?: true;
}

/**
 * A field with facts for the document that the field itself does not enforce: bounds and choices that the operation
 * checks with its own messages, and the default that it uses for a missing value.
 */
export const announced = <T extends z.ZodType>(type: T, facts: FieldFacts): T =>
  type.meta({ json: { ...(type.meta() as unknown as FieldMeta).json, ...facts } });

/** A second name of a field. */
export const olderName = <T extends z.ZodType>(type: T, of: string) =>
  announced(type, { 'x-shown-as': of }).meta({ olderNameOf: of }).optional().describe(`Older name of ${of}.`);

/** A field whose case the operation ignores, such as names of policies. */
export const anyCase = <T extends z.ZodType>(type: T): T => type.meta({ anyCase: true });

/**
 * A string in JSON or another language, in which different strings can mean the same. So a policy rule that denies
 * single values always denies it, and a rule that allows single values compares it character by character.
 */
export const document = <T extends z.ZodType>(type: T): T => type.meta({ document: true });

/** A field that controls the operation and is not stored. */
export const notKept = <T extends z.ZodType>(type: T): T => announced(type, { writeOnly: true });

type Convert<T> = (value: unknown) => T | Failure;

/** A field with its own parsing rule. `hidden` keeps its values out of error messages. */
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

/** A string. Numbers and booleans are converted to text. */
export const string = () => field({ type: 'string' }, (value) => toText(value));

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const foldId = (text: string) => (uuid.test(text) ? text.toLowerCase() : text);

/** An id in its canonical spelling, as in paths, because locks, sealed values and caches use it as a key. */
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

/** Characters that an HTTP header cannot contain, for example the line end of a pasted token. */
const uncarried = /[^\t\x20-\x7e\x80-\xff]/;

const toHeader = (value: unknown) => {
  const text = toText(value);
  if (text instanceof Failure || !uncarried.test(text)) return text;
  return new Failure('contains a line break or another character that is not allowed in headers');
};

/** A string that is sent to another system in a header. */
export const header = () => field({ type: 'string' }, toHeader);

/** Like `header`, but the value never appears in error messages. */
export const secretHeader = () => hiddenText(toHeader);

/**
 * A stored secret that is sent to the address in these fields. A caller without the secret could change one of these
 * fields in order to receive the secret, so a merging write that changes them must send the secret again.
 */
export const sentTo = <T extends z.ZodType>(secret: T, ...fields: readonly [string, ...string[]]): T =>
  secret.meta({ ...secret.meta(), sentTo: fields });

/** A stored secret that no field can redirect: it signs, only its hash is stored, or its destinations are built in. */
export const notRedirectable = <T extends z.ZodType>(secret: T): T => secret.meta({ ...secret.meta(), sentTo: [] });

/** A string from a closed list, compared exactly; `text` returns the whole message of the refusal. */
export const oneOf = <const T extends readonly string[]>(values: T, text?: (value: string) => string) =>
  field<T[number]>({ type: 'string', enum: [...values] }, (value) => {
    const read = toText(value);
    if (read instanceof Failure) return read;
    if (values.includes(read)) return read;
    return text ? new Failure(text(read), true) : new Failure(`must be one of ${values.join(', ')}`);
  });

/** A whole number, from a number or numeric text. */
export const int = () => field({ type: 'integer' }, toInt);

/** A number that need not be whole, from a number or its digits; `text` is the whole message of the refusal. */
export const decimal = (text: string) =>
  field({ type: 'number' }, (value) => {
    const digits = typeof value === 'boolean' ? new Failure(text, true) : toText(value);
    const isNumber = !(digits instanceof Failure) && /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(digits);
    return isNumber && Number.isFinite(Number(digits)) ? Number(digits) : new Failure(text, true);
  });

/** True or false, also from text (`"true"`, `"0"`) and from 1 and 0. */
export const bool = () => field({ type: 'boolean' }, toBool);

/**
 * A lifetime in whole seconds: from a number, numeric text, or text with units (`1h30m`, `1d`). Negatives are refused.
 */
export const duration = () =>
  field({ type: 'string', format: 'duration', description: 'Seconds, or text with a unit such as 30s or 1h.' }, (v) => {
    const seconds = toSeconds(v);
    return typeof seconds === 'number' && seconds < 0
      ? new Failure(`cannot provide negative value '${seconds}'`)
      : seconds;
  });

/** A lifetime that may be negative. The operation defines the meaning of negative values. */
export const signedDuration = () => field({ type: 'string', format: 'duration' }, toSeconds);

/**
 * A lifetime with its own error messages, because clients match them exactly: one for a parsing problem, one for a
 * negative value.
 */
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

/** A list of ids in their canonical spelling, parsed like `commaList`. */
export const idList = () =>
  several(listOfText, (value) => {
    const list = toCommaList(value);
    return list instanceof Failure ? list : list.map(foldId);
  });

/** A list of whole numbers, from an array or from text split at commas; `text` is the whole message of the refusal. */
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

/** A list from an array; a single string becomes one element, including its commas. Elements are trimmed. */
export const stringList = () =>
  several(listOfText, (value) => {
    const list = toList(value);
    return list instanceof Failure ? list : list.map((item) => item.trim());
  });

const listOfText = { type: 'array', items: { type: 'string' }, maxItems: maxElements };

/** A field of several elements, which are counted before and after parsing. */
function several<T>(json: Record<string, unknown>, convert: Convert<T>) {
  const withCount = (value: unknown) => {
    const failure = tooManyElements(value);
    if (failure) return failure;
    const result = convert(value);
    return result instanceof Failure ? result : (tooManyElements(result) ?? result);
  };
  return field(json, withCount, false, { empty: json.type === 'array' ? [] : {}, several: true });
}

/** Splits text at commas, but no further than the limit. */
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
export const nested = <S extends z.ZodObject>(name: string, inner: S, nothing: readonly unknown[] = [null]) => {
  // Created once, because creating a schema takes fifty times as long as parsing with it.
  const schema = inner.partial();
  return field<Partial<z.output<S>>>(
    { type: 'object' },
    (value) => {
      const object = toObject(value);
      if (object instanceof Failure) return object;
      const nonEmpty = Object.fromEntries(Object.entries(object).filter(([, item]) => !nothing.includes(item)));
      const parsed = schema.safeParse(nonEmpty);
      if (parsed.success) return parsed.data as Partial<z.output<S>>;
      const { path, message, params } = parsed.error.issues[0] as z.core.$ZodIssueCustom;
      const key = String(path[0] ?? Object.keys(nonEmpty).find((one) => !(one in inner.shape)));
      if (path.length === 0) return new Failure(`${name}: unknown field ${key}`, true);
      return new Failure(params?.whole ? message : fieldProblem(`${name}.${key}`, shown(nonEmpty[key]), message), true);
    },
    false,
    { empty: {}, several: true },
  );
};

/** An object of any JSON values. Its numbers keep the digits that were sent. */
export const exactObject = () => object().meta({ exact: true });

/** A list of objects of any JSON values. */
export const objectList = () =>
  several<Record<string, unknown>[]>({ type: 'array', items: { type: 'object' }, maxItems: maxElements }, toObjects);

/** Any JSON value, as sent. */
export const anything = () => field<unknown>({}, (value) => value);
