import { ExactNumber, exactJson, plainNumbers } from '@keystead/envelope';
import { invalid } from '@keystead/jsonapi';

/**
 * An output as a state records it; `detailedType` is a type expression of the tool. The value is JSON text in which
 * numbers keep all digits.
 */
export interface ParsedOutput {
  readonly name: string;
  readonly valueText: string;
  readonly sensitive: boolean;
  readonly type: string;
  readonly detailedType: unknown;
}

/** One kind of resource in one module, with the number of its instances. */
export interface ParsedResource {
  readonly name: string;
  readonly type: string;
  readonly count: number;
  readonly module: string;
  readonly provider: string;
  /** The index of each instance, null if it has none; omitted if there is one instance without an index. */
  readonly keys?: readonly InstanceKey[];
}

/** The key in brackets at the end of an instance's address. */
export type InstanceKey = string | number | null;

/** The content of a state. */
export interface ParsedState {
  /** Null for a state that its tool has encrypted: only serial and lineage can be read. */
  readonly format: number | null;
  readonly infraVersion: string | null;
  readonly serial: bigint;
  readonly lineage: string;
  readonly outputs: readonly ParsedOutput[];
  readonly resources: readonly ParsedResource[];
  /** For each module, the number of resources by type. Types are written with dashes. */
  readonly modules: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** For each provider, the number of resources by type. Types are written with dashes. */
  readonly providers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The number of instances of managed resources. */
  readonly managedCount: number;
}

/** The bytes are not a state. */
export class NoState extends Error {
  override readonly name = 'NoState';
}

const highestSerial = 2n ** 63n - 1n;

/** The serial in a JSON value, read exactly; undefined for anything other than a whole number of at most 63 bits. */
export function serialIn(value: unknown): bigint | undefined {
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return undefined;
  const digits = String(value);
  const serial = /^\d{1,19}$/.test(digits) ? BigInt(digits) : undefined;
  return serial !== undefined && serial <= highestSerial ? serial : undefined;
}

/** The next serial. Throws `invalid` if there is no greater one. */
export function serialAfter(serial: bigint): bigint {
  if (serial < highestSerial) return serial + 1n;
  throw invalid('serial', `of the current state is ${serial}, the highest possible serial`);
}

/** A serial as answers and the audit trail show it, with every digit. */
export const shownSerial = (serial: bigint): number | ExactNumber =>
  Number.isSafeInteger(Number(serial)) ? Number(serial) : new ExactNumber(String(serial));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Outputs by name, as in a state or in the tool's JSON of outputs: `{ value, type, sensitive }`, read exactly. */
export function parseOutputs(outputs: Iterable<readonly [string, unknown]>): ParsedOutput[] {
  return [...outputs]
    .filter((entry): entry is [string, Record<string, unknown>] => isObject(entry[1]))
    .map(([name, output]) => {
      const detailedType = storable(plainNumbers(output.type) ?? typeOf(output.value));
      return {
        name: storableText(name),
        valueText: exactJson(output.value ?? null),
        sensitive: output.sensitive === true,
        type: plainType(detailedType),
        detailedType,
      };
    });
}

const unstorable = /[\0\ud800-\udfff]/;

/** A string that the database can store: NUL and lone surrogates are replaced. */
export function storableText(value: string): string {
  if (!unstorable.test(value)) return value;
  return Buffer.from(value).toString('utf8').replaceAll('\0', '\uFFFD');
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(storable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableText(key), storable(inner)]));
}

const plainTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    bool: 'boolean',
    list: 'array',
    set: 'array',
    tuple: 'array',
    map: 'object',
    object: 'object',
  }),
);

/** The name of a type expression in the terms of JSON: `["tuple",["string"]]` is an array. */
function plainType(type: unknown): string {
  const kind = Array.isArray(type) ? text(type[0]) : text(type);
  return plainTypes.get(kind) ?? (kind === '' ? 'string' : kind);
}

/** The type expression of a value that was sent without one. */
function typeOf(value: unknown): unknown {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || value instanceof ExactNumber) return 'number';
  if (Array.isArray(value)) return ['tuple', value.map(typeOf)];
  if (isObject(value)) return ['object', Object.fromEntries(Object.entries(value).map(([key, v]) => [key, typeOf(v)]))];
  return 'string';
}
