import { LARGEST_PAGE } from '@keystead/jsonapi';
import type { Edition } from '../installation/edition';
import { AnswerSchemas } from './answer-schemas';
import { bodyBytes, type Endpoint, type Resource, unknownBody } from './endpoint';
import { operationId } from './operation-id';
import { plainTypeOf } from './plain-types';
import { type Json, ref } from './relation-schemas';

const MEDIA_TYPE = 'application/vnd.api+json';
const content = (schema: Json): Json => ({ [MEDIA_TYPE]: { schema } });
const failures: Record<number, string> = {
  400: 'The request is malformed, or a query parameter is wrong.',
  401: 'The token is missing, unknown, revoked or expired.',
  403: 'The caller may see the resource, but may not do this.',
  404: 'The resource does not exist, or the caller may not see it or do this.',
  408: 'The body was sent too slowly.',
  409: 'The state of the resource does not allow this.',
  412: 'The resource is no longer at the revision that If-Match names.',
  415: 'The body is of another media type.',
  422: 'The document breaks a rule; one error for each failing attribute.',
  429: 'Too many requests.',
  503: 'The service, or a system that it needs for the answer, is not ready.',
};

function failureOf(status: number, { auth, largeBody }: Endpoint): string {
  if (status !== 413) return failures[status]!;
  if (auth === 'none') return `The body is larger than ${unknownBody.bytes / 1024} KiB.`;
  const most = `The body is larger than ${(largeBody?.bytes ?? bodyBytes) / 1024 / 1024} MiB`;
  return largeBody === undefined ? `${most}.` : `${most}: ${largeBody.instead}.`;
}

function failureStatuses({ auth, method, body, refuses, streams }: Endpoint): number[] {
  const changes = method !== 'GET';
  return [
    400,
    ...(auth === 'none' ? [] : [401]),
    404,
    ...(changes ? [403, 409, 412, 422] : []),
    ...(body === undefined && !streams ? [] : [408]),
    ...(body === undefined ? [] : [413, 415]),
    429,
    503,
    ...refuses,
  ];
}

function parameter(where: 'query' | 'path' | 'header', name: string, description: string, schema: Json): Json {
  return { name, in: where, required: where === 'path', description, schema };
}

function parametersOf(endpoint: Endpoint): Json[] {
  const { path, query, paging, sort, include, alwaysIncludes, idempotent, method, shows, serializer, outside } =
    endpoint;
  const text = { type: 'string' };
  const found = [...path.matchAll(/:([A-Za-z_]+)/g)].map(([, name]) =>
    parameter('path', name!, `The ${name!.replace(/_/g, ' ')}.`, text),
  );
  const spelled = new Set<string>();
  for (const [name, description] of Object.entries(query)) {
    // A second spelling of a parameter is accepted but not described, because generators would merge both into one
    // argument.
    const spelling = name.replaceAll('_', '-');
    if (!spelled.has(spelling)) found.push(parameter('query', name, description, text));
    spelled.add(spelling);
  }
  if (paging !== 'none') {
    const whole = paging === 'optional' ? ' Without page parameters the whole list is sent.' : '';
    const size = { type: 'integer', minimum: 1, maximum: LARGEST_PAGE, default: 20 };
    found.push(
      parameter('query', 'page[number]', `Page, from 1.${whole}`, { type: 'integer', minimum: 1, default: 1 }),
    );
    found.push(parameter('query', 'page[size]', 'Entries of a page.', size));
  }
  if (sort.length > 0) {
    const keys = sort.flatMap((key) => [key, `-${key}`]);
    found.push(parameter('query', 'sort', `Comma-separated: ${keys.join(', ')}.`, text));
  }
  if (include.length > 0) {
    const always = alwaysIncludes.length > 0 ? ` Always included: ${alwaysIncludes.join(', ')}.` : '';
    found.push(parameter('query', 'include', `Comma-separated: ${include.join(', ')}.${always}`, text));
  }
  if (method === 'GET' && serializer?.type && !outside) {
    const what = `The attributes and relationships of ${serializer.type} to show, separated by commas. Default: all.`;
    found.push(parameter('query', `fields[${serializer.type}]`, what, text));
  }
  if (idempotent) {
    const about =
      'A key of your choice. A request that is sent again with it within a day does not create a second resource.';
    found.push(parameter('header', 'Idempotency-Key', about, text));
  }
  if (method !== 'GET' && shows === 'one' && !idempotent) {
    found.push(parameter('header', 'If-Match', 'The ETag that the resource must still have.', text));
  }
  return found;
}

function successOf(endpoint: Endpoint, answers: AnswerSchemas): Json {
  if (endpoint.shows === 'raw') return {};
  const status = String(endpoint.status);
  return endpoint.shows === 'nothing'
    ? { [status]: { description: 'Done.' } }
    : { [status]: { description: 'Done.', content: content(answers.documentOf(endpoint)) } };
}

/** Content that is sent with its own media type, or with a general type to callers who ask for that type. */
function contentOfType(type: string, schema: Json | undefined): Json {
  const plain = plainTypeOf(type);
  return { [type]: { schema }, ...(plain === undefined ? {} : { [plain]: { schema } }) };
}

/**
 * The body in the document: its shape, or the media type of a streamed body. If several types are accepted, only the
 * first is documented, because generators would create several client types with the same name.
 */
function bodyOf({ body, takes, dialect }: Endpoint, edition: Edition): Json {
  if (body !== undefined) {
    const schema = body.jsonSchema(edition);
    const required = !body.optional;
    if (dialect === undefined) return { requestBody: { required, content: content(schema) } };
    const [first, ...others] = dialect.mediaTypes;
    const description = `Also accepted as ${others.join(', ')}.`;
    return {
      requestBody: { required, ...(others.length > 0 ? { description } : {}), content: { [first]: { schema } } },
    };
  }
  const schema = { type: 'string', format: 'binary' };
  return takes === undefined ? {} : { requestBody: { content: { [takes]: { schema } } } };
}

function operation(
  area: string,
  declared: Endpoint,
  endpoint: Endpoint,
  answers: AnswerSchemas,
  edition: Edition,
): Json {
  const { summary, auth, dialect } = endpoint;
  const refusal = dialect && { [dialect.mediaTypes[0]]: { schema: dialect.refusalSchema } };
  const refused = Object.fromEntries(
    failureStatuses(endpoint).map((status) => [
      status,
      { description: failureOf(status, endpoint), content: refusal ?? content(ref('Errors')) },
    ]),
  );
  const others = Object.entries(endpoint.answers).map(([status, { description, type, schema }]) => {
    // Refusals that every endpoint has are in the usual form, even if the endpoint's own refusals have another form.
    const usual = refused[status]?.content;
    const own = type === undefined ? undefined : contentOfType(type, schema);
    return [status, own === undefined ? { description } : { description, content: { ...usual, ...own } }];
  });
  return {
    operationId: operationId(declared),
    tags: [area],
    summary,
    parameters: parametersOf(endpoint),
    ...bodyOf(endpoint, edition),
    ...(auth === 'none' ? { security: [] } : {}),
    responses: { ...successOf(endpoint, answers), ...refused, ...Object.fromEntries(others) },
  };
}

/** The description of the API, from the declarations of all endpoints in this edition. OpenAPI 3.0.3. */
export function openapiDocument(
  resources: readonly Resource[],
  options: { edition: Edition; aliases: boolean; publicUrl: string; prefix: string },
): Json {
  const paths: Record<string, Json> = {};
  const answers = new AnswerSchemas(resources, options);
  const types = new Map<string, string>();
  for (const resource of resources) {
    for (const declared of resource.endpoints) {
      if (declared.edition !== undefined && declared.edition !== options.edition) continue;
      // A path template has one set of parameter names: the names of its first endpoint.
      const shape = declared.path.replace(/:[A-Za-z_]+/g, ':');
      const endpoint = { ...declared, path: types.get(shape) ?? declared.path };
      types.set(shape, endpoint.path);
      const path = (endpoint.outside ? '' : options.prefix) + endpoint.path.replace(/:([A-Za-z_]+)/g, '{$1}');
      paths[path] = {
        ...paths[path],
        [endpoint.method.toLowerCase()]: operation(resource.name, declared, endpoint, answers, options.edition),
      };
    }
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Keystead workspaces',
      description: 'Organizations, workspaces, and who may do what with them.',
      version: '2',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: options.publicUrl }],
    security: [{ token: [] }],
    tags: resources.map(({ name }) => ({ name })),
    paths,
    components: { schemas: answers.schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  };
}
