import { z } from 'zod';
import type { FieldMeta } from './fields';

export type FieldTypes = Readonly<Record<string, z.ZodType>>;

/** The fields with their defaults. */
export type FieldRows<S extends FieldTypes> = {
  readonly [Name in keyof S]: readonly [field: S[Name], initial: z.output<S[Name]>];
};

/** The fields of a kind of record. */
export interface RecordFields<S extends FieldTypes> {
  /** The schema by which they are parsed from a body and stored. */
  readonly input: z.ZodObject<S>;
  /** The default values. */
  readonly defaults: { [Name in keyof S]: z.output<S[Name]> };
  /** Their types in answers. */
  readonly output: z.ZodObject<{ [Name in keyof S]: z.ZodType }>;
}

/** Declares each field of a record once: its type and its default. Its type in answers follows. */
export function recordFields<const S extends FieldTypes>(rows: FieldRows<S>): RecordFields<S> {
  const each = <T>(take: (row: readonly [z.ZodType, unknown]) => T) =>
    Object.fromEntries(Object.entries<readonly [z.ZodType, unknown]>(rows).map(([name, row]) => [name, take(row)]));
  return {
    input: z.object(each(([field]) => field)),
    defaults: each(([, initial]) => initial),
    output: z.object(each(([field]) => shownAs(field))),
  } as unknown as RecordFields<S>;
}

/** The type of a field in answers: lifetimes are shown in whole seconds. */
function shownAs(field: z.ZodType): z.ZodType {
  const carrier = field instanceof z.ZodOptional ? (field.unwrap() as z.ZodType) : field;
  const { json } = carrier.meta() as unknown as FieldMeta;
  if (json.format === 'duration' || json.type === 'integer') return z.int();
  if (json.type === 'boolean') return z.boolean();
  if (json.type === 'array') return z.array(z.string());
  if (json.type !== 'object') return z.string();
  return z.record(z.string(), json.additionalProperties === undefined ? z.unknown() : z.string());
}
