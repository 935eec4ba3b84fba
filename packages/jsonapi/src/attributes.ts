import { z } from 'zod';
import type { Aliases } from './aliases';

/** The attributes of a kind of resource, by wire name: what the serializer answers, and the document says. */
export type AttributeShape = Readonly<Record<string, z.ZodType>>;

/** What a serializer has to answer for its declared attributes. */
export type AttributesOf<S extends AttributeShape> = Untouched<z.input<z.ZodObject<S>>>;

/** What a serializer has to answer for one attribute. */
export type AttributeValue<S extends z.ZodType> = Untouched<z.input<S>>;

/** Only looked at: what is read-only may be shown, too. */
type Untouched<T> = T extends Date ? T : T extends object ? { readonly [K in keyof T]: Untouched<T[K]> } : T;

export const text = z.string();
/**
 * A credential: shown once, when it is made. Endpoints that answer one require people at the console
 * to prove who they are first.
 */
export const credential = z.string().meta({ format: 'password' });
/** Sent and never shown under its name: a secret, or what is found elsewhere. The API description says so, too. */
export const writeOnly = <T extends z.ZodType>(type: T): T => type.meta({ writeOnly: true });
/**
 * A secret that is kept, with the attributes that say where it is sent; none, where it is sent nowhere. An update that changes one
 * of them needs the secret again. The API description lists them.
 */
export const sentTo = <T extends z.ZodType>(type: T, ...attributes: readonly string[]): T =>
  type.meta({ writeOnly: true, 'x-sent-to': attributes });
/** What was said by `sentTo`, also of a type that may be left out or null. */
export function addressesOf(type: z.ZodType): readonly string[] {
  const said = type.meta()?.['x-sent-to'];
  if (said !== undefined) return said as readonly string[];
  return type instanceof z.ZodOptional || type instanceof z.ZodNullable ? addressesOf(type.unwrap() as z.ZodType) : [];
}
export const flag = z.boolean();
/** A whole number. */
export const whole = z.number().meta({ type: 'integer' });
/** A moment: what a `Date` becomes on the wire. */
export const instant = z.custom<Date | string>().meta({ type: 'string', format: 'date-time' });
/** Any JSON value, null included. */
export const anything = z.unknown();
/** Moments by what happened then. */
export const timestamps = z
  .custom<unknown>()
  .meta({ type: 'object', nullable: true, additionalProperties: { type: 'string', format: 'date-time' } });
/** One of a closed list, where the type of the value is wider than the list. */
export const choice = (values: readonly string[]) => z.string().meta({ enum: [...values] });

/** The JSON schema of declared attributes; with aliases, second names appear next to the first. */
export function attributesSchema(shape: AttributeShape, aliases: Aliases = {}): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(z.object(shape), {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'any',
  }) as Record<string, unknown>;
  for (const [from, to] of Object.entries(aliases)) addAlias(schema, from.split('.'), to.split('.').at(-1)!);
  return schema;
}

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  required?: string[];
}

function addAlias(schema: ObjectSchema, path: readonly string[], alias: string): void {
  const [key, ...rest] = path as [string, ...string[]];
  const property = schema.properties?.[key];
  if (property === undefined) return;
  if (rest.length > 0) {
    addAlias(property, rest, alias);
    return;
  }
  schema.properties![alias] = property;
  if (schema.required?.includes(key)) schema.required.push(alias);
}
