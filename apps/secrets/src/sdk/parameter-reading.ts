import { decimalValue, ExactNumber } from '@keystead/envelope';
import type { z } from 'zod';
import { Failure, isObject } from './coerce';
import type { FieldMeta } from './fields';

/** The parsed value of a parameter: one value, or the elements of a list or map. */
export interface ReadValue {
  readonly elements: readonly unknown[];
  readonly several: boolean;
  /** The operation ignores case. */
  readonly anyCase: boolean;
}

/** How an operation parses its parameters, for checks before it runs. */
export interface ParameterReading {
  /** All names of the parameter with this name, beginning with this name. */
  namesOf(name: string): readonly string[];
  /**
   * The parsed value; undefined if the operation has no such parameter, would refuse the value, or parses a document
   * from it.
   */
  read(name: string, value: unknown): ReadValue | undefined;
  /** Whether the operation has such a parameter. */
  knows(name: string): boolean;
  /** Other parameters with the same effect. */
  sameAs(parameters: Parameters): readonly Parameters[];
}

type Parameters = Readonly<Record<string, unknown>>;

/** The parts of an operation that define how it parses parameters. */
interface Reader {
  readonly input?: z.ZodObject;
  readonly defaults?: object;
  readonly sameAs?: (parameters: Parameters) => readonly Parameters[];
}

/** Parses the parameters of an operation; undefined if it declares none. */
export function readingOf(operation: Reader): ParameterReading | undefined {
  return operation.input && new FieldsReading(operation);
}

class FieldsReading implements ParameterReading {
  private names: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(private readonly operation: Reader) {}

  namesOf(name: string): readonly string[] {
    this.names ??= groupNames(this.operation.input?.shape ?? {});
    return this.names.get(name) ?? [name];
  }

  knows(name: string): boolean {
    return Object.hasOwn(this.operation.input?.shape ?? {}, name);
  }

  sameAs(parameters: Parameters): readonly Parameters[] {
    return this.operation.sameAs?.(parameters) ?? [];
  }

  read(name: string, value: unknown): ReadValue | undefined {
    const shape = this.operation.input?.shape ?? {};
    if (!this.knows(name)) return undefined;
    const meta = fieldMeta(shape[name]!);
    if (meta.document) return undefined;
    const defaults = this.operation.defaults as Readonly<Record<string, unknown>> | undefined;
    const effective = value === null ? (meta.empty ?? defaults?.[name]) : value;
    if (effective === undefined) return undefined;
    const read = meta.read(effective);
    if (read instanceof Failure || read === undefined) return undefined;
    const several = meta.several === true;
    const elements = several ? elementsOf(read) : [read];
    const anyCase = meta.anyCase === true;
    return { elements: anyCase ? elements.map(folded) : elements, several, anyCase };
  }
}

/** The metadata of a field, through all wrappers. */
export function fieldMeta(field: z.ZodType): FieldMeta {
  let inner = field as z.ZodType & { readonly in?: z.ZodType; unwrap?(): z.ZodType };
  for (;;) {
    const meta = inner.meta() as unknown as FieldMeta | undefined;
    if (meta?.read) return meta;
    inner = (inner.unwrap?.() ?? inner.in) as typeof inner;
  }
}

function groupNames(shape: Readonly<Record<string, z.ZodType>>): Map<string, readonly string[]> {
  const names = Object.keys(shape);
  const newest = (name: string) => fieldMeta(shape[name]!).olderNameOf ?? name;
  return new Map(
    names.map((name) => [name, [name, ...names.filter((other) => other !== name && newest(other) === newest(name))]]),
  );
}

const folded = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value);

/** The elements of a parsed value. For a map: each pair, and one pair per item for a value that is a list. */
function elementsOf(read: unknown): readonly unknown[] {
  if (Array.isArray(read)) return read;
  if (!isObject(read)) return [read];
  return Object.entries(read).flatMap(([key, value]) =>
    Array.isArray(value) && value.length > 0 ? value.map((item) => pairOf(key, item)) : [pairOf(key, value)],
  );
}

/**
 * A pair as text. The name is quoted if it could be mistaken for part of the value. Values that are objects or lists
 * are unchanged.
 */
function pairOf(key: string, value: unknown): unknown {
  if (isObject(value) || Array.isArray(value)) return { [key]: value };
  return `${/["=]/.test(key) ? JSON.stringify(key) : key}=${value instanceof ExactNumber ? decimalOf(value) : value}`;
}

/**
 * The decimal digits of a number. Equal numbers have the same digits here, unless they have more digits than a double.
 */
function decimalOf({ digits }: ExactNumber): string {
  const plain = String(Number(digits));
  return decimalValue(plain) === decimalValue(digits) ? plain : decimalValue(digits);
}
