import { type Issue, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { type Aliases, addressesOf, attributesSchema } from './attributes';
import { invalidAll, type Pointers } from './errors';
import type { LargeText } from './large-text';

type Camel<S extends string> = S extends `${infer A}-${infer B}`
  ? `${A}${Capitalize<Camel<B>>}`
  : S extends `${infer A}_${infer B}`
    ? `${A}${Capitalize<Camel<B>>}`
    : S;

/** A value with the dashed keys of its objects renamed; arrays are unchanged. */
export type Camelised<T> = T extends readonly unknown[] | Date | Uint8Array | LargeText
  ? T
  : T extends object
    ? { [K in keyof T as K extends string ? Camel<K> : K]: Camelised<T[K]> }
    : T;

/** A reference as sent. Tags and inline resources may have no id. */
export interface SentReference {
  id?: string | undefined;
  type?: string | undefined;
  attributes?: Record<string, unknown> | undefined;
}

/** A resource type of references, and the attributes for resources that do not exist yet, as JSON schemas by name. */
export interface SentKind {
  readonly type: string;
  readonly attributes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const typesOf = (kinds: readonly (string | SentKind)[]): string[] =>
  kinds.map((kind) => (typeof kind === 'string' ? kind : kind.type));

const attributesOf = (kinds: readonly (string | SentKind)[]): SentKind['attributes'] =>
  Object.assign({}, ...kinds.map((kind) => (typeof kind === 'string' ? {} : kind.attributes)));

function referenceSchema(types: readonly string[], attributes: SentKind['attributes']): Record<string, unknown> {
  return {
    type: 'object',
    properties: {
      type: { type: 'string', enum: [...types] },
      id: { type: 'string' },
      ...(Object.keys(attributes).length === 0 ? {} : { attributes: { type: 'object', properties: attributes } }),
    },
  };
}

/** A parsed body: its value with the service's own names, and the position of each part. */
export interface ParsedBody<T> {
  value: T;
  pointers: Pointers;
  /** The id in the document, if it has one. */
  id?: string | undefined;
}

/** A shape that request bodies are checked against. */
export interface BodyShape<T> {
  /** An absent body is read as undefined instead of being refused. */
  readonly optional: boolean;
  /** Stored secrets, each with the attributes that decide where it is sent, under the service's own names. */
  readonly secrets?: readonly (readonly [secret: string, addresses: readonly string[]])[];
  parse(raw: unknown, options: { aliases: boolean; edition?: string }): ParsedBody<T>;
  /** JSON schema for the OpenAPI document. With an edition: only the parts that this edition accepts. */
  jsonSchema(edition?: string): Record<string, unknown>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A wire name as the service's own name: `auto-apply` as `autoApply`. */
export const camel = (name: string): string =>
  name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function camelised(value: unknown): unknown {
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camel(key), camelised(inner)]));
}

const ARTICLE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    int: 'an integer',
    array: 'a list',
    object: 'an object',
    record: 'an object',
  }),
);

/** Messages for zod's issues, worded to follow the attribute's name in plain words. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || (issue.input === null && issue.expected === 'string')
        ? "can't be blank"
        : `must be ${ARTICLE.get(issue.expected) ?? `a ${issue.expected}`}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? "can't be blank"
        : issue.origin === 'string'
          ? `is too short (minimum is ${issue.minimum} characters)`
          : `must be greater than or equal to ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `is too long (maximum is ${issue.maximum} characters)`
        : issue.origin === 'array'
          ? `has too many members (maximum is ${issue.maximum})`
          : `must be less than or equal to ${issue.maximum}`;
    case 'invalid_format':
      return 'is invalid';
    default:
      return undefined;
  }
}

/** Issues of a zod shape, each below `at`, under the keys that were sent. */
function issuesOf(error: z.ZodError, at: readonly string[], sent: ReadonlyMap<string, string>): Issue[] {
  const names = new Set<string>();
  const issues: Issue[] = [];
  for (const issue of error.issues) {
    const dotted = issue.path.join('.');
    const path = (sent.get(dotted) ?? dotted).split('.').filter((part) => part !== '');
    if (!names.has(dotted)) {
      names.add(dotted);
      issues.push({ path: [...at, ...path], message: issue.message });
    }
  }
  return issues;
}

/**
 * Moves values sent under an alias to their main key and notes which key was sent. Two different values are refused.
 */
function neutral(
  attributes: Record<string, unknown>,
  aliases: readonly (readonly [readonly string[], string])[],
  sent: Map<string, string>,
): Record<string, unknown> {
  const copy = { ...attributes };
  for (const [path, alias] of aliases) {
    let holder = copy;
    for (const step of path.slice(0, -1)) {
      const inner = holder[step];
      if (!isObject(inner)) {
        holder = {};
        break;
      }
      holder[step] = { ...inner };
      holder = holder[step] as Record<string, unknown>;
    }
    const key = path.at(-1)!;
    if (!(alias in holder)) continue;
    if (key in holder && JSON.stringify(holder[key]) !== JSON.stringify(holder[alias])) {
      const above = ['data', 'attributes', ...path.slice(0, -1)];
      const message = `must not be given as ${key} and ${alias} with different values`;
      throw invalidAll([
        { path: [...above, key], message },
        { path: [...above, alias], message },
      ]);
    }
    if (!(key in holder)) {
      holder[key] = holder[alias];
      sent.set(path.join('.'), [...path.slice(0, -1), alias].join('.'));
    }
    delete holder[alias];
  }
  return copy;
}

/** The maximum length of any list in a request, checked before the members are read. */
export const maxListMembers = 10_000;

/** A relationship that a document may have. */
export interface RelationshipShape<T> {
  readonly many: boolean;
  readonly types: readonly string[];
  readonly required: boolean;
  readonly schema: z.ZodType<T>;
  /** The attributes of references that may be new resources. */
  readonly attributes?: SentKind['attributes'];
}

const SentReferenceShape = z.object({
  id: z.string().optional(),
  type: z.string().optional(),
  attributes: z.record(z.string(), z.unknown()).optional(),
});

const ReferenceToOne = z.union([z.object({ id: z.string() }).transform(({ id }) => id), z.null()]);

/** A relationship to one resource: its id, null if it is removed, undefined if it is not mentioned. */
export function one(...types: string[]): RelationshipShape<string | null | undefined> {
  return { many: false, types, required: false, schema: ReferenceToOne.optional() };
}

/** A required relationship to one resource. */
export function requiredOne(...types: string[]): RelationshipShape<string> {
  return { many: false, types, required: true, schema: z.object({ id: z.string() }).transform(({ id }) => id) };
}

/** A relationship to many resources. */
export function many(...kinds: (string | SentKind)[]): RelationshipShape<SentReference[] | undefined> {
  const schema = z.array(SentReferenceShape).optional();
  return { many: true, types: typesOf(kinds), required: false, schema, attributes: attributesOf(kinds) };
}

type Relationships = Record<string, RelationshipShape<unknown>>;
type RelationshipValues<R extends Relationships> = {
  [K in keyof R as K extends string ? Camel<K> : K]: R[K] extends RelationshipShape<infer T> ? T : never;
};

/** The result of `document()`: attributes and relationships in one object, by the service's own names. */
export type DocumentValue<A extends z.ZodRawShape, R extends Relationships> = Camelised<z.output<z.ZodObject<A>>> &
  RelationshipValues<R>;

/** The description of a resource document in a request. */
export interface DocumentSpec<A extends z.ZodRawShape, R extends Relationships> {
  attributes?: A;
  relationships?: R;
  aliases?: Aliases;
  /** Other values of `data.type` that existing clients send. */
  otherTypes?: readonly string[];
  /** Accepts a missing or empty type, which some clients send. */
  untyped?: boolean;
  /** An absent body, or one without attributes, is accepted. */
  optional?: boolean;
  /** Attributes that only one edition has; the others ignore them like unknown keys. */
  editions?: Readonly<Record<string, string>>;
  /**
   * Attributes and relationships of features that do not exist, each with the reason. `a.b` means the member `b` of
   * `a`. A value that is not empty is refused with its pointer.
   */
  unserved?: Readonly<Record<string, string>>;
}

function dataOf(raw: unknown): unknown {
  if (!isObject(raw) || !('data' in raw) || raw.data === undefined) {
    throw new Refusal('invalid', 'param is missing or the value is empty: data', [
      { path: ['data'], message: 'param is missing or the value is empty: data' },
    ]);
  }
  return raw.data;
}

function requireType(type: unknown, allowed: readonly string[], path: readonly string[]): void {
  if (typeof type !== 'string' || !allowed.includes(type)) {
    throw new Refusal('invalid', 'wrong type', [{ path, message: `data.type must be ${allowed[0] ?? 'given'}` }]);
  }
}

function relationshipIssues(name: string, shape: RelationshipShape<unknown>, sent: unknown, issues: Issue[]): unknown {
  const at = ['data', 'relationships', name];
  const data = isObject(sent) ? sent.data : sent;
  const result = shape.schema.safeParse(data, { error: wording });
  if (!result.success) {
    issues.push({ path: at, message: data === undefined ? "can't be blank" : 'is malformed' });
    return undefined;
  }
  for (const reference of Array.isArray(data) ? data : [data]) {
    if (isObject(reference) && reference.type !== undefined && !shape.types.includes(String(reference.type))) {
      issues.push({ path: at, message: `must be of type ${shape.types.join(' or ')}` });
      return undefined;
    }
  }
  return result.data;
}

/** False and empty values request nothing. */
const asksForNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.values(value).every(asksForNothing));

/** Issues for the unsupported features that a document requests, under the names that were sent. */
function unservedIssues(
  unserved: readonly (readonly [string, string])[],
  attributes: Readonly<Record<string, unknown>>,
  links: Readonly<Record<string, unknown>>,
): Issue[] {
  const inside = (node: unknown, steps: readonly string[]): unknown =>
    steps.reduce((value, step) => (isObject(value) ? value[step] : undefined), node);
  return unserved.flatMap(([name, why]) => {
    const message = `must be left out: ${why}`;
    const steps = name.split('.');
    const related = links[name];
    return [
      ...(asksForNothing(inside(attributes, steps)) ? [] : [{ path: ['data', 'attributes', ...steps], message }]),
      ...(asksForNothing(isObject(related) ? related.data : related)
        ? []
        : [{ path: ['data', 'relationships', name], message }]),
    ];
  });
}

function without(attributes: Record<string, unknown>, keys: readonly (readonly [string, string])[]) {
  const remaining = { ...attributes };
  for (const [key] of keys) delete remaining[key];
  return remaining;
}

/**
 * A resource document: `data.type`, attributes and relationships. Unknown keys are ignored, unless they are `unserved`.
 * Parsing throws `invalid`, with a separate issue for each invalid key, under the key that was sent.
 */
export function document<
  A extends z.ZodRawShape = Record<never, never>,
  R extends Relationships = Record<never, never>,
>(type: string, spec: DocumentSpec<A, R>): BodyShape<DocumentValue<A, R>> {
  const shape = z.object(spec.attributes ?? ({} as A));
  const relationships = Object.entries(spec.relationships ?? {});
  const elsewhere = Object.entries(spec.editions ?? {});
  const unserved = Object.entries(spec.unserved ?? {});
  const aliases = Object.entries(spec.aliases ?? {}).map(
    ([from, to]) => [from.split('.'), to.split('.').at(-1)!] as const,
  );
  const secrets = Object.entries(shape.shape).map(
    ([name, declared]) => [camel(name), addressesOf(declared as z.ZodType).map(camel)] as const,
  );
  return {
    optional: spec.optional ?? false,
    secrets: secrets.filter(([, addresses]) => addresses.length > 0),
    parse(raw, options) {
      const absent = spec.optional === true && (raw === undefined || (isObject(raw) && !('data' in raw)));
      const data = absent ? {} : dataOf(raw);
      if (!isObject(data)) {
        throw new Refusal('invalid', 'data must be an object', [{ path: ['data'], message: 'data must be an object' }]);
      }
      if (!absent && !(spec.untyped === true && (data.type === undefined || data.type === ''))) {
        requireType(data.type, [type, ...(spec.otherTypes ?? [])], ['data', 'type']);
      }
      const sentAttributes = data.attributes ?? {};
      if (!isObject(sentAttributes)) {
        const message = 'attributes must be an object';
        throw new Refusal('invalid', message, [{ path: ['data', 'attributes'], message }]);
      }
      if (data.id !== undefined && data.id !== null && typeof data.id !== 'string') {
        throw new Refusal('invalid', '', [{ path: ['data', 'id'], message: 'must be a string' }]);
      }
      const sent = new Map<string, string>();
      const neutralAttributes = options.aliases ? neutral(sentAttributes, aliases, sent) : sentAttributes;
      const foreign = elsewhere.filter(([key, edition]) => key in neutralAttributes && edition !== options.edition);
      const attributes = foreign.length === 0 ? neutralAttributes : without(neutralAttributes, foreign);
      const result = shape.safeParse(attributes, { error: wording });
      const issues = result.success ? [] : issuesOf(result.error, ['data', 'attributes'], sent);
      const pointers = new Map<string, string>();
      for (const key of Object.keys(attributes)) {
        pointers.set(camel(key), `/data/attributes/${sent.get(key) ?? key}`);
      }
      const value = result.success ? (camelised(result.data) as Record<string, unknown>) : {};
      const links = data.relationships ?? {};
      if (!isObject(links)) {
        const message = 'relationships must be an object';
        throw new Refusal('invalid', message, [{ path: ['data', 'relationships'], message }]);
      }
      for (const [name, relationship] of relationships) {
        if (!(name in links) && !relationship.required) continue;
        value[camel(name)] = relationshipIssues(name, relationship, links[name], issues);
        if (!pointers.has(camel(name))) {
          pointers.set(camel(name), `/data/relationships/${name}`);
        }
      }
      issues.push(...unservedIssues(unserved, attributes, links));
      if (issues.length > 0) throw invalidAll(issues);
      return { value: value as DocumentValue<A, R>, pointers, id: data.id || undefined };
    },
    jsonSchema(edition) {
      const foreign = elsewhere.flatMap(([key, one]) =>
        edition === undefined || edition === one || !(key in shape.shape) ? [] : [[key, true]],
      );
      const ownShape = shape.omit(Object.fromEntries(foreign)) as z.ZodObject;
      return documentSchema(type, ownShape, relationships, spec.optional ?? false);
    },
  };
}

/** A list of references, for relationship endpoints: `{"data":[{"type","id"}]}`. */
export function references(...kinds: (string | SentKind)[]): BodyShape<SentReference[]> {
  const types = typesOf(kinds);
  const schema = z.array(SentReferenceShape);
  return {
    optional: false,
    parse(raw) {
      const data = dataOf(raw);
      const result = schema.safeParse(data);
      if (!result.success) {
        throw new Refusal('invalid', '', [{ path: ['data'], message: 'data must be a list of resource identifiers' }]);
      }
      for (const [index, reference] of result.data.entries()) {
        if (reference.type !== undefined) {
          requireType(reference.type, types, ['data', String(index), 'type']);
        }
      }
      return { value: result.data, pointers: new Map() };
    },
    jsonSchema: () => ({
      type: 'object',
      required: ['data'],
      properties: {
        data: {
          type: 'array',
          maxItems: maxListMembers,
          items: referenceSchema(types, attributesOf(kinds)),
        },
      },
    }),
  };
}

/** The issues of one of several documents, with its index in the list. */
export function issuesAt(index: number, { issues, message }: Refusal): Issue[] {
  if (issues.length === 0) return [{ path: ['data', String(index)], message }];
  return issues.map(({ path: [first, ...rest], message }) => ({
    path: [
      'data',
      String(index),
      ...(first === 'data' ? rest : ['attributes', ...(first === undefined ? [] : [first]), ...rest]),
    ],
    message,
  }));
}

/**
 * Changes of several resources of a type at once: `{"data":[{"type","id","attributes"}]}`. Each resource may be in the
 * list only once.
 */
export function documents<T>(one: BodyShape<T>, most: number): BodyShape<{ id: string; value: T }[]> {
  return {
    optional: false,
    parse(raw, options) {
      const data = dataOf(raw);
      if (!Array.isArray(data)) throw invalidAll([{ path: ['data'], message: 'data must be a list' }]);
      if (data.length > most) throw new Refusal('malformed', `data has too many members (maximum is ${most})`);
      const issues: Issue[] = [];
      const byKey = new Map<string, T>();
      for (const [index, item] of data.entries()) {
        try {
          const { id, value } = one.parse({ data: item }, options);
          if (id === undefined || byKey.has(id)) {
            const message = id === undefined ? "can't be blank" : 'is given twice';
            issues.push({ path: ['data', String(index), 'id'], message });
          } else byKey.set(id, value);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          issues.push(...issuesAt(index, error));
        }
      }
      if (issues.length > 0) throw invalidAll(issues);
      return { value: [...byKey].map(([id, value]) => ({ id, value })), pointers: new Map() };
    },
    jsonSchema(edition) {
      const { data } = one.jsonSchema(edition).properties as { data: { properties: object; required?: string[] } };
      const items = { ...data, required: ['type', 'id'], properties: { id: { type: 'string' }, ...data.properties } };
      return { type: 'object', required: ['data'], properties: { data: { type: 'array', maxItems: most, items } } };
    },
  };
}

/**
 * The body of an action with a few attributes, either at the top level or in a document of any type. The body may be
 * absent. If an attribute is in both places, the values must be equal.
 */
export function bare<A extends Record<string, z.ZodType>>(
  attributes: A,
): BodyShape<Camelised<z.output<z.ZodObject<A>>>> {
  const shape = z.object(attributes);
  const at = ['data', 'attributes'];
  const requireObject = (value: unknown, path: readonly string[]): Record<string, unknown> => {
    if (isObject(value ?? {})) return (value ?? {}) as Record<string, unknown>;
    throw new Refusal('invalid', '', [{ path: [...path], message: 'must be an object' }]);
  };
  return {
    optional: true,
    parse(raw) {
      const body = requireObject(raw, ['data']);
      const data = requireObject(body.data, ['data']);
      // Actions have no relationships, but as in every document, the value must be an object.
      requireObject(data.relationships, ['data', 'relationships']);
      const wrapped = requireObject(data.attributes, at);
      const twice = Object.keys(attributes).filter(
        (key) => key in body && key in wrapped && JSON.stringify(body[key]) !== JSON.stringify(wrapped[key]),
      );
      if (twice.length > 0) {
        const message = 'must not be given twice with different values';
        throw invalidAll(twice.map((key) => ({ path: [...at, key], message })));
      }
      const result = shape.safeParse({ ...body, ...wrapped }, { error: wording });
      if (!result.success) throw invalidAll(issuesOf(result.error, at, new Map()));
      return { value: camelised(result.data) as never, pointers: new Map() };
    },
    jsonSchema() {
      const properties = attributesSchema(attributes).properties as Record<string, unknown>;
      const document = {
        type: 'object',
        properties: { type: { type: 'string' }, attributes: { type: 'object', properties } },
      };
      return { type: 'object', properties: { ...properties, data: document } };
    },
  };
}

/** A body read by a custom function, for the few requests that are not resource documents. */
export function freeForm<T>(read: (raw: unknown) => T, schema: Record<string, unknown>, optional = true): BodyShape<T> {
  return {
    optional,
    parse: (raw) => ({ value: read(raw), pointers: new Map() }),
    jsonSchema: () => schema,
  };
}

function documentSchema(
  type: string,
  attributes: z.ZodObject,
  relationships: readonly (readonly [string, RelationshipShape<unknown>])[],
  optional: boolean,
): Record<string, unknown> {
  const { $schema: _, ...shape } = z.toJSONSchema(attributes, {
    target: 'openapi-3.0',
    io: 'input',
    unrepresentable: 'any',
  }) as Record<string, unknown>;
  delete shape.additionalProperties;
  const reference = (types: readonly string[], sent: SentKind['attributes'] = {}) => ({
    ...referenceSchema(types, sent),
    nullable: true,
  });
  const links = Object.fromEntries(
    relationships.map(([name, { many: isMany, types, attributes: sent }]) => [
      name,
      {
        type: 'object',
        properties: {
          data: isMany ? { type: 'array', items: reference(types, sent), maxItems: maxListMembers } : reference(types),
        },
      },
    ]),
  );
  return {
    type: 'object',
    ...(optional ? {} : { required: ['data'] }),
    properties: {
      data: {
        type: 'object',
        ...(optional ? {} : { required: ['type'] }),
        properties: {
          type: { type: 'string', enum: [type] },
          id: { type: 'string' },
          attributes: shape,
          ...(relationships.length > 0 ? { relationships: { type: 'object', properties: links } } : {}),
        },
      },
    },
  };
}

/** The parsed body of a schema created by `document`. */
export type ParsedDocument<S> = S extends { parse(...args: never[]): { value: infer V } } ? V : never;
