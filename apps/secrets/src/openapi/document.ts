import { createHash } from 'node:crypto';
import type { LiveMount } from '../kernel/mounts/mount';
import type { AccessList } from '../kernel/policy/types';
import type { Path } from '../sdk/path';
import { type JsonSchema, refusals, sharedSchemas } from './json-schema';
import { type OperationEntry, type PathEntry, pathEntry } from './path-entry';

/** A finished document and its tag. */
export interface OpenApiDocument {
  /** Already encoded, because encoding half a megabyte costs more than everything else in a request. */
  readonly bytes: Buffer;
  readonly etag: string;
}

/** The sources of the documents. */
export interface DocumentSource {
  readonly version: string;
  /** Increases whenever the mounts have changed. */
  mountsVersion(): number;
  mounts(namespaceId: string): readonly LiveMount[];
}

interface DocumentQuery {
  readonly namespaceId: string;
  readonly namespacePath: string;
  /** Undefined for callers without a token. */
  readonly access: AccessList | undefined;
  readonly genericMountPaths: boolean;
}

const methods = { read: 'get', list: 'get', scan: 'get', write: 'post', patch: 'patch', delete: 'delete' } as const;
/** Either way of sending a token is accepted. */
const securitySchemes: Record<string, JsonSchema> = {
  token: { type: 'apiKey', in: 'header', name: 'X-Service-Token' },
  bearer: { type: 'http', scheme: 'bearer' },
};
const emptyBody = { description: 'empty body' };

/**
 * OpenAPI documents of all mounts. A document contains only operations that the caller may use somewhere. Entries are
 * built once per state of the mount table, documents once per access list. Spec: OpenAPI document.
 */
export class OpenApiDocuments {
  private entriesOf = new Map<string, PathEntry[]>();
  private version = -1;
  private documents = new WeakMap<object, Map<string, OpenApiDocument>>();
  private readonly anonymous = {};

  constructor(private readonly source: DocumentSource) {}

  /**
   * The document for a caller. It takes microseconds if nothing has changed since it was last built. Otherwise it takes
   * many steps, because every operation is checked against the caller's rules.
   */
  *document(query: DocumentQuery): Generator<void, OpenApiDocument> {
    const version = this.source.mountsVersion();
    if (version !== this.version) {
      this.entriesOf = new Map();
      this.documents = new WeakMap();
      this.version = version;
    }
    const owner = query.access ?? this.anonymous;
    const documentsOfOwner = this.documents.get(owner) ?? new Map<string, OpenApiDocument>();
    this.documents.set(owner, documentsOfOwner);
    const key = `${query.namespaceId}${query.genericMountPaths ? '*' : ''}`;
    let document = documentsOfOwner.get(key);
    if (!document) {
      const bytes = Buffer.from(`${JSON.stringify(yield* this.build(query))}\n`);
      document = { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"` };
      documentsOfOwner.set(key, document);
    }
    return document;
  }

  /** The document of some declared paths, for any caller. */
  pathsDocument(mount: LiveMount, declared: readonly Path[]): JsonSchema {
    const entries = declared.map((one) => pathEntry(mount, one, ''));
    const steps = this.assemble(entries, () => true, false);
    for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
  }

  private build(query: DocumentQuery): Generator<void, JsonSchema> {
    const { access } = query;
    const isVisible = (entry: OperationEntry) =>
      entry.free ||
      (access !== undefined && entry.capabilities.some((one) => access.grantsSome(entry.template, one, entry.sudo)));
    return this.assemble(this.entries(query), isVisible, query.genericMountPaths);
  }

  private entries({ namespaceId, namespacePath }: DocumentQuery): PathEntry[] {
    let entries = this.entriesOf.get(namespaceId);
    if (!entries) {
      entries = this.source
        .mounts(namespaceId)
        .filter(({ tainted }) => !tainted)
        .flatMap((mount) =>
          mount.backend.paths
            .filter((declared) => namespacePath === '' || !declared.rootNamespaceOnly)
            .map((declared) => pathEntry(mount, declared, namespacePath)),
        );
      this.entriesOf.set(namespaceId, entries);
    }
    return entries;
  }

  private *assemble(
    entries: readonly PathEntry[],
    isVisible: (entry: OperationEntry) => boolean,
    generic: boolean,
  ): Generator<void, JsonSchema> {
    const paths: Record<string, JsonSchema> = {};
    const schemas: Record<string, JsonSchema> = { ...sharedSchemas };
    const ids = new Set<string>();
    for (const entry of entries) {
      const visibleEntries: OperationEntry[] = [];
      for (const operation of entry.operations) {
        yield;
        if (isVisible(operation)) visibleEntries.push(operation);
      }
      if (visibleEntries.length === 0) continue;
      const key = generic ? entry.genericKey : entry.key;
      if (paths[key]) continue;
      paths[key] = pathItem(entry, visibleEntries, generic, (operation) => {
        const id = distinct(operation.id, ids);
        const names = { id, request: `${pascal(id)}Request`, response: `${pascal(id)}Response` };
        if (operation.request) schemas[names.request] = operation.request;
        schemas[names.response] = operation.response;
        return names;
      });
    }
    return {
      openapi: '3.0.2',
      info: {
        title: 'Keystead secrets service',
        description: 'HTTP API of the secrets and identity service.',
        version: this.source.version,
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: '/v1', description: 'The beginning of every path, at the address of this service.' }],
      security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
      paths: sorted(paths),
      components: { responses: refusalResponses(), schemas: sorted(schemas), securitySchemes },
    };
  }
}

/** The names of an operation and of its request and response types. */
interface Names {
  readonly id: string;
  readonly request: string;
  readonly response: string;
}

function pathItem(
  entry: PathEntry,
  visibleEntries: readonly OperationEntry[],
  generic: boolean,
  register: (operation: OperationEntry) => Names,
): JsonSchema {
  const item: JsonSchema = { description: entry.description };
  const parameters = [...(generic && entry.genericParameter ? [entry.genericParameter] : []), ...entry.parameters];
  if (parameters.length > 0) item.parameters = parameters;
  // Only from the operations that are shown. If only some operations of a path need sudo, callers without sudo see the
  // path without this mark.
  if (visibleEntries.some(({ sudo }) => sudo)) item['x-service-sudo'] = true;
  if (entry.unauthenticated) item['x-service-unauthenticated'] = true;
  if (entry.creates) item['x-service-create-supported'] = true;
  const read = visibleEntries.find(({ verb }) => verb === 'read');
  const list = visibleEntries.find(({ verb }) => verb === 'list');
  const scan = visibleEntries.find(({ verb }) => verb === 'scan');
  for (const operation of visibleEntries) {
    // One GET is documented for read, list and scan; the parameters `list` and `scan` select the operation.
    if ((operation === list && read) || (operation === scan && (read || list))) continue;
    const { id, request, response } = register(operation);
    const reads = operation === read || operation === list || operation === scan;
    const listing = [
      ...(list ? [listParameter(read === undefined && scan === undefined)] : []),
      ...(scan ? [scanParameter] : []),
    ];
    const own = reads ? [...listing, ...unlike(list, operation), ...operation.parameters] : operation.parameters;
    const body: JsonSchema = { ...operation.body, operationId: id, ...(operation.free ? { security: [] } : {}) };
    if (own.length > 0) body.parameters = own;
    if (operation.request) {
      const media = operation.verb === 'patch' ? 'application/merge-patch+json' : json;
      body.requestBody = { required: true, content: { [media]: { schema: ref(request) } } };
    } else if (operation.bodyMedia) {
      body.requestBody = { required: true, content: contentOf([operation.bodyMedia]) };
    }
    const alsoList = operation === read && list ? register(list).response : undefined;
    body.responses = responses(operation, response, alsoList);
    item[methods[operation.verb]] = body;
  }
  return item;
}

/** The parameters of a listing that a reading GET does not have. */
function unlike(list: OperationEntry | undefined, operation: OperationEntry): readonly JsonSchema[] {
  if (!list || list === operation) return [];
  const names = new Set(operation.parameters.map(({ name }) => name));
  return list.parameters.filter(({ name }) => !names.has(name));
}

const json = 'application/json';

/** The content by media type: JSON with its schema, text, and bytes. */
function contentOf(types: readonly string[], schema: JsonSchema = { type: 'object' }): JsonSchema {
  const ofType = (type: string): JsonSchema => {
    if (type === json) return schema;
    if (type.endsWith('json')) return { type: 'object' };
    return { type: 'string', ...(/^text|pem/.test(type) ? {} : { format: 'binary' }) };
  };
  return Object.fromEntries(types.map((type) => [type, { schema: ofType(type) }]));
}

function responses(operation: OperationEntry, own: string, alsoList: string | undefined): JsonSchema {
  const schema = alsoList === undefined ? ref(own) : { anyOf: [ref(own), ref(alsoList)] };
  const content = contentOf(operation.media ?? [json], schema);
  const further = operation.refusalMedia === undefined ? undefined : contentOf([operation.refusalMedia]);
  const answer: JsonSchema = { [operation.status]: { description: 'OK', content } };
  for (const status of operation.refusals) {
    const { name, response } = refusals[status];
    answer[status] = further
      ? { ...response, content: { ...(response.content as JsonSchema), ...further } }
      : { $ref: `#/components/responses/${name}` };
  }
  for (const [status, description] of Object.entries(operation.statuses)) {
    const body = further && Number(status) >= 400 ? further : content;
    answer[status] = { description, content: status in refusals ? orRefusal(schema) : body };
  }
  if (operation.mayBeEmpty) answer['204'] = emptyBody;
  return answer;
}

/** The schema of an answer that either has content or is a refusal. */
function orRefusal(schema: JsonSchema): JsonSchema {
  const alternatives = (schema.anyOf as JsonSchema[] | undefined) ?? [schema];
  return { 'application/json': { schema: { anyOf: [...alternatives, ref('Error')] } } };
}

function refusalResponses(): JsonSchema {
  return Object.fromEntries(Object.values(refusals).map(({ name, response }) => [name, response]));
}

function listParameter(required: boolean): JsonSchema {
  return {
    name: 'list',
    description: required ? 'Must be set to `true`' : 'Return a list if `true`',
    in: 'query',
    schema: required ? { type: 'string', enum: ['true'] } : { type: 'string' },
    ...(required ? { required: true } : {}),
  };
}

const scanParameter: JsonSchema = {
  name: 'scan',
  description: 'Return everything below, at any depth, if `true`',
  in: 'query',
  schema: { type: 'string' },
};

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** An id that is unique even if hyphens are ignored: `kv1-read` and `kv-1-read` would both become `Kv1Read`. */
function distinct(id: string, names: Set<string>): string {
  const folded = (one: string) => one.replaceAll('-', '');
  let unique = id;
  for (let i = 2; names.has(folded(unique)); i++) unique = `${id}${i}`;
  names.add(folded(unique));
  return unique;
}

function pascal(id: string): string {
  return id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function sorted(record: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
