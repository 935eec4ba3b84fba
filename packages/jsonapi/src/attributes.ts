import { z } from 'zod';

/**
 * Aliases of attributes that existing clients need, such as `'infra-version': 'other-name'`. `permissions.x` means the
 * member `x` of `permissions`.
 */
export type Aliases = Readonly<Record<string, string>>;

/** The attributes of a resource, by wire name: the serializer returns them, and the OpenAPI document lists them. */
export type AttributeShape = Readonly<Record<string, z.ZodType>>;

/** The type that a serializer must return for its declared attributes. */
export type AttributesOf<S extends AttributeShape> = Untouched<z.input<z.ZodObject<S>>>;

/** The type that a serializer must return for one attribute. */
export type AttributeValue<S extends z.ZodType> = Untouched<z.input<S>>;

/** Read-only, so that read-only values may be shown, too. */
type Untouched<T> = T extends Date ? T : T extends object ? { readonly [K in keyof T]: Untouched<T[K]> } : T;

export const text = z.string();
/**
 * A credential, shown only when it is created. In the console, endpoints that return a credential require a recent
 * proof of identity.
 */
export const credential = z.string().meta({ format: 'password' });
/**
 * Sent and never shown under its name: a secret, or a value that is shown elsewhere. The OpenAPI document marks it as
 * write-only.
 */
export const writeOnly = <T extends z.ZodType>(type: T): T => type.meta({ writeOnly: true });
/**
 * A stored secret, with the attributes that decide where it is sent (none if it is not sent). An update that changes
 * one of these attributes must contain the secret. The OpenAPI document lists them.
 */
export const sentTo = <T extends z.ZodType>(type: T, ...attributes: readonly string[]): T =>
  type.meta({ writeOnly: true, 'x-sent-to': attributes });
/** The attributes given to `sentTo`, also for an optional or nullable type. */
export function addressesOf(type: z.ZodType): readonly string[] {
  const places = type.meta()?.['x-sent-to'];
  if (places !== undefined) return places as readonly string[];
  return type instanceof z.ZodOptional || type instanceof z.ZodNullable ? addressesOf(type.unwrap() as z.ZodType) : [];
}
export const flag = z.boolean();
/** A whole number. */
export const whole = z.number().meta({ type: 'integer' });
/** A time: how a `Date` is written to JSON. */
export const instant = z.custom<Date | string>().meta({ type: 'string', format: 'date-time' });
/** Any JSON value, null included. */
export const anything = z.unknown();
/** Times, each under the name of its event. */
export const timestamps = z
  .custom<unknown>()
  .meta({ type: 'object', nullable: true, additionalProperties: { type: 'string', format: 'date-time' } });
/** A value from a closed list. Use it for values whose type allows more than the list. */
export const choice = (values: readonly string[]) => z.string().meta({ enum: [...values] });

/** The JSON schema of declared attributes; aliases appear next to the main names. */
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
