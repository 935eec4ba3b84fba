import { ExactNumber, exactJson, parseExact } from '@keystead/envelope';
/** The parts of an OpenAPI document that forms use. */
export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly $ref?: string;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema?: Schema;
}
interface ApiOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly 'x-keystead-step-up'?: boolean;
}
type PathItem = Readonly<Partial<Record<'get' | 'post' | 'delete' | 'patch', ApiOperation>>> & {
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
};
/** The OpenAPI document of a service, with the operations that this session may see. */
export interface Document {
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** A field of a form. */
export interface Field {
  readonly name: string;
  readonly kind: 'text' | 'secret' | 'number' | 'yes-no' | 'choice' | 'list' | 'json';
  readonly description: string;
  readonly required: boolean;
  readonly choices: readonly string[];
  readonly fallback: unknown;
}

/** A path below a mount, with its operations. */
export interface EnginePath {
  /** Relative to the mount, with parameters in braces; empty for the mount itself. */
  readonly pattern: string;
  readonly description: string;
  readonly parameters: readonly string[];
  /** The write operation with its fields; undefined if the path cannot be written. */
  readonly write:
    | { readonly summary: string; readonly fields: readonly Field[]; readonly anything: boolean }
    | undefined;
  readonly read: { readonly summary: string; readonly fields: readonly Field[] } | undefined;
  readonly remove: { readonly summary: string } | undefined;
  readonly lists: boolean;
}

/** The paths below a mount, those without parameters first. */
export function placesOf(document: Document, mount: string): EnginePath[] {
  const prefix = `/${mount}`;
  return Object.entries(document.paths)
    .filter(([path]) => path.startsWith(prefix))
    .map(([path, item]) => placeOf(document, path.slice(prefix.length), item))
    .sort((a, b) => a.parameters.length - b.parameters.length || (a.pattern < b.pattern ? -1 : 1));
}

function placeOf(document: Document, pattern: string, item: PathItem): EnginePath {
  const { get, post, delete: remove } = item;
  const query = [...(item.parameters ?? []), ...(get?.parameters ?? [])].filter((one) => one.in === 'query');
  const lists = query.some(({ name }) => name === 'list');
  const mustList = query.some(
    (one) => one.name === 'list' && (one.schema?.enum?.length === 1 || pattern.endsWith('/')),
  );
  const schema = resolved(document, post?.requestBody?.content?.['application/json']?.schema);
  const filters = query.filter(({ name }) => !['list', 'scan', 'after', 'limit', 'help'].includes(name));
  return {
    pattern,
    description: item.description ?? get?.summary ?? post?.summary ?? '',
    parameters: [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
    write:
      post === undefined
        ? undefined
        : {
            summary: post.summary ?? 'Write.',
            fields: fieldsOf(document, schema),
            anything: schema?.additionalProperties === true,
          },
    read:
      get === undefined || mustList
        ? undefined
        : {
            summary: get.summary ?? 'Read.',
            fields: filters.map(({ name, description, schema: type }) =>
              fieldOf(document, name, { ...type, ...(description === undefined ? {} : { description }) }, false),
            ),
          },
    remove: remove === undefined ? undefined : { summary: remove.summary ?? 'Delete.' },
    lists,
  };
}

function fieldsOf(document: Document, schema: Schema | undefined): Field[] {
  const required = new Set(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, type]) =>
    fieldOf(document, name, type, required.has(name)),
  );
}

function fieldOf(document: Document, name: string, schema: Schema, required: boolean): Field {
  const type = resolved(document, schema) ?? schema;
  return {
    name,
    kind: kindOf(type),
    description: schema.description ?? type.description ?? '',
    required,
    choices: (type.enum ?? []).map(String),
    fallback: type.default,
  };
}

function kindOf({ type, format, enum: choices }: Schema): Field['kind'] {
  if (choices !== undefined) return 'choice';
  if (format === 'password') return 'secret';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'yes-no';
  if (type === 'array') return 'list';
  return type === 'object' ? 'json' : 'text';
}

function resolved(document: Document, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.split('/').at(-1);
  return name === undefined ? schema : document.components?.schemas?.[name];
}

/** A pattern with its parameters replaced by values. */
export const filled = (pattern: string, values: Readonly<Record<string, string>>): string =>
  pattern.replace(/\{(\w+)\}/g, (_, name: string) => (values[name] ?? '').split('/').map(encodeURIComponent).join('/'));

/**
 * Whether the path is a setting, which is read when its page opens. Paths where a read creates credentials are not
 * settings.
 */
export const isSetting = ({ read, write, remove, parameters }: EnginePath): boolean =>
  read !== undefined && write !== undefined && (remove !== undefined || parameters.length === 0);

/** Builds a request body from the form, without empty fields. Throws if a JSON field is malformed. */
export function bodyOf(fields: readonly Field[], typed: Readonly<Record<string, string>>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name, kind } of fields) {
    const text = typed[name];
    if (text === undefined || text === '') continue;
    if (kind === 'number') body[name] = Number.isFinite(Number(text)) ? parseExact(text) : text;
    else if (kind === 'yes-no') body[name] = text === 'yes';
    else if (kind === 'list') {
      body[name] = text.trim().startsWith('[') ? parsed(name, text) : text.split(',').map((one) => one.trim());
    } else if (kind === 'json') body[name] = parsed(name, text);
    else body[name] = text;
  }
  return body;
}

function parsed(name: string, text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new Error(`${name} is not JSON`);
  }
}

const isNested = (value: unknown): boolean => typeof value === 'object' && !(value instanceof ExactNumber);

/** A response as form input. */
export function typedOf(fields: readonly Field[], data: Readonly<Record<string, unknown>>): Record<string, string> {
  const typed: Record<string, string> = {};
  for (const { name, kind } of fields) {
    const value = data[name];
    if (value === undefined || value === null) continue;
    if (kind === 'yes-no') typed[name] = value === true ? 'yes' : 'no';
    else if (kind === 'list' && Array.isArray(value) && value.every((one) => !isNested(one)))
      typed[name] = value.join(', ');
    else typed[name] = isNested(value) ? exactJson(value, 2) : String(value);
  }
  return typed;
}

/**
 * The parameter values in a path that matches a pattern, such as `creds/ops` for `creds/{name}`. Undefined if it does
 * not match.
 */
export function namesIn(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const patternParts = pattern.split('/');
  const pathParts = path.split('/');
  if (patternParts.length !== pathParts.length) return undefined;
  const names: Record<string, string> = {};
  for (const [index, part] of patternParts.entries()) {
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (name !== undefined) names[name] = pathParts[index]!;
    else if (part !== pathParts[index]) return undefined;
  }
  return names;
}
