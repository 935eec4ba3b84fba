import { below } from '../kernel/mounts/fold';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Operation as Capability, PathTemplate } from '../kernel/policy/types';
import { isListing, isReading, type Verb } from '../sdk/call';
import type { AnyOperation, ParamRule, Path } from '../sdk/path';
import { enveloped, type JsonSchema, jsonSchema, type RefusalStatus } from './json-schema';
import { operationId, typeName } from './operation-id';

/** An operation of the document, and the rights that a caller needs to see it. */
export interface OperationEntry {
  readonly verb: Verb;
  readonly free: boolean;
  readonly sudo: boolean;
  readonly capabilities: readonly Capability[];
  readonly template: PathTemplate;
  /** Without its id, which depends on the whole document. */
  readonly body: JsonSchema;
  readonly id: string;
  /** Field parameters in the query. */
  readonly parameters: readonly JsonSchema[];
  readonly request: JsonSchema | undefined;
  /** The media type of a body that is not JSON of fields. */
  readonly bodyMedia: string | undefined;
  readonly response: JsonSchema;
  /** Status of a success with a body. */
  readonly status: number;
  /** Additional statuses with their descriptions. */
  readonly statuses: Readonly<Record<number, string>>;
  readonly media: readonly string[] | undefined;
  readonly refusalMedia: string | undefined;
  readonly mayBeEmpty: boolean;
  readonly refusals: readonly RefusalStatus[];
}

/** One declared path of one mount. */
export interface PathEntry {
  readonly key: string;
  readonly genericKey: string;
  readonly description: string;
  readonly parameters: readonly JsonSchema[];
  readonly genericParameter: JsonSchema | undefined;
  readonly unauthenticated: boolean;
  readonly creates: boolean;
  readonly operations: readonly OperationEntry[];
}

const builtIn = new Set(['system', 'identity', 'cubbyhole', 'token']);

/** Everything in the document about a declared path, before the caller's rights are checked. */
export function pathEntry(mount: LiveMount, declared: Path, namespacePath: string): PathEntry {
  const pattern = declared.pattern.replace(/:(\w+)\*?/g, '{$1}');
  const names = [...declared.pattern.matchAll(/:(\w+)\*?/g)].map(([, name]) => name!);
  const key = `/${mount.path}${pattern}`.replace(/\/$/, '') || '/';
  const mountParameter = `${typeName(mount).replaceAll('-', '_')}_mount_path`;
  const generic = !builtIn.has(mount.type);
  const area = mount.path.startsWith('auth/') ? 'auth/' : '';
  const verbs = Object.entries(declared.operations) as [Verb, AnyOperation][];
  return {
    key,
    genericKey: generic ? `/${area}{${mountParameter}}/${pattern}`.replace(/\/$/, '') : key,
    description: declared.description ?? declared.summary,
    parameters: names.map((name) => ({
      name,
      description: declared.paramDocs[name] ?? '',
      in: 'path',
      schema: parameterSchema(declared.params[name]),
      required: true,
    })),
    genericParameter: generic
      ? {
          name: mountParameter,
          description: 'The path of the mount.',
          in: 'path',
          schema: { type: 'string', default: mount.path.slice(area.length, -1) },
          required: true,
        }
      : undefined,
    unauthenticated: verbs.every(([, operation]) => isFree(declared, operation)),
    creates: declared.creates,
    operations: verbs.map(([verb, operation]) => operationEntry(mount, declared, verb, operation, namespacePath)),
  };
}

/** A parameter's rule, as far as a schema can express it. */
function parameterSchema(rule: ParamRule | undefined): JsonSchema {
  if (rule === 'uuid') return { type: 'string', format: 'uuid' };
  const words = rule instanceof RegExp ? /^\^\((\w+(?:\|\w+)*)\)\$$/.exec(rule.source)?.[1] : undefined;
  return words === undefined ? { type: 'string' } : { type: 'string', enum: words.split('|') };
}

function operationEntry(
  mount: LiveMount,
  declared: Path,
  verb: Verb,
  operation: AnyOperation,
  namespacePath: string,
): OperationEntry {
  const id = operationId(mount, declared, verb, operation);
  const responseFormat = operation.responseFormat ?? declared.responseFormat;
  const output = operation.output && jsonSchema(operation.output, 'output');
  const schema =
    responseFormat === 'raw' ? (output ?? { type: 'object' }) : enveloped(output, responseFormat === 'injected');
  const input = operation.input && withDefaults(jsonSchema(operation.input, 'input'), operation.defaults);
  const writes = verb === 'write' || verb === 'patch';
  const properties = (input?.properties ?? {}) as Record<string, JsonSchema>;
  const fields = Object.keys(properties).length > 0;
  const above = namespacePath + mount.path;
  const folding = mount.tree.foldingOf(declared);
  return {
    verb,
    free: isFree(declared, operation),
    sudo: operation.sudo ?? declared.sudo,
    capabilities: capabilitiesOf(verb, declared),
    template: { ...templateOf(above + declared.pattern, verb), folding: folding && below(folding, above) },
    id,
    body: {
      summary: operation.summary,
      ...(operation.description ? { description: operation.description } : {}),
      ...(operation.stepUp ? { 'x-keystead-step-up': true } : {}),
      tags: [tagOf(mount)],
    },
    parameters: writes
      ? []
      : Object.entries(properties).map(([name, { description, ...rest }]) => ({
          name,
          in: 'query',
          ...(description ? { description } : {}),
          schema: rest,
          required: false,
        })),
    request:
      writes && !operation.wholeBody && (fields || operation.freeform) ? bodySchema(input, operation) : undefined,
    response: schema,
    status: operation.status === 202 ? 202 : 200,
    statuses: operation.responses ?? {},
    bodyMedia: operation.wholeBody?.media,
    media: operation.media,
    refusalMedia: operation.refusalMedia,
    mayBeEmpty: writes || verb === 'delete' || operation.mayBeEmpty === true,
    refusals: refusalsOf(mount, declared, verb),
  };
}

function refusalsOf(mount: LiveMount, { operations }: Path, verb: Verb): RefusalStatus[] {
  const always: RefusalStatus[] = [400, 403, 404, 429, 503];
  // One GET is documented for both, and the parameter `list` may request the operation that does not exist.
  if (isReading(verb) && !(operations.read && operations.list)) always.push(405);
  if (verb === 'write' || verb === 'patch') always.push(408, 413);
  if (verb === 'patch' || operations[verb]?.wholeBody?.only) always.push(415);
  // System paths revoke what other mounts have issued. Tokens are renewed by their auth method.
  if (mount.backend.outside || mount.type === 'system' || mount.type === 'token') always.push(502, 504);
  return always;
}

function bodySchema(input: JsonSchema | undefined, operation: AnyOperation): JsonSchema {
  const schema: JsonSchema = { type: 'object', ...input };
  // Merging writes may leave out everything that is stored or has a default; handlers still refuse missing fields.
  if (operation.update) delete schema.required;
  if (operation.freeform) schema.additionalProperties = true;
  else delete schema.additionalProperties;
  return schema;
}

/** A default value as clients send it. A field of text, such as a lifetime, may have a number as its parsed value. */
function asSent({ type }: JsonSchema, value: unknown): unknown {
  return type === 'string' && typeof value === 'number' ? String(value) : value;
}

/** A default outside the field's enum, such as an empty text, is not documented. */
const isDefault = ({ enum: values }: JsonSchema, value: unknown): boolean =>
  value !== undefined && (!Array.isArray(values) || values.includes(value));

function withDefaults(schema: JsonSchema, defaults: object | undefined): JsonSchema {
  const properties = schema.properties as Record<string, JsonSchema> | undefined;
  if (!defaults || !properties) return schema;
  const values = defaults as Record<string, unknown>;
  const filled = Object.entries(properties).map(([name, property]) => [
    name,
    'default' in property || !isDefault(property, values[name])
      ? property
      : { ...property, default: asSent(property, values[name]) },
  ]);
  return { ...schema, properties: Object.fromEntries(filled) };
}

function isFree(declared: Path, operation: AnyOperation): boolean {
  return (operation.auth ?? declared.auth) !== 'token';
}

function capabilitiesOf(verb: Verb, declared: Path): Capability[] {
  if (verb !== 'write') return [verb];
  return declared.creates ? ['create', 'update'] : ['update'];
}

function templateOf(pattern: string, verb: Verb): PathTemplate {
  const segments: (string | { free: true })[] = [];
  for (const segment of pattern.split('/')) {
    if (segment.startsWith(':') && segment.endsWith('*') && pattern.endsWith(segment)) return { segments, open: true };
    segments.push(segment.startsWith(':') ? { free: true } : segment);
  }
  if (isListing(verb)) segments.push('');
  return { segments };
}

function tagOf(mount: LiveMount): string {
  if (mount.type === 'system') return 'system';
  if (mount.type === 'identity') return 'identity';
  return mount.path.startsWith('auth/') ? 'auth' : 'secrets';
}
