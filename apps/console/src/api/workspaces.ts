import createClient, { type Client, type FetchResponse } from 'openapi-fetch';
import type { components, paths } from './generated/workspaces';
import type { Transport } from './transport';

type MediaType = 'application/vnd.api+json';
export type WorkspacesApi = Client<paths, MediaType>;

type Schemas = components['schemas'];
/** A resource type of the workspace service, from its OpenAPI document. */
export type Resource<Name extends keyof Schemas> = Schemas[Name];
type Reads<Path extends keyof paths> = paths[Path] extends { get: infer Get extends Record<string | number, unknown> }
  ? Get
  : never;
/** The response to a GET of a path. */
export type AnswerTo<Path extends keyof paths> = NonNullable<FetchResponse<Reads<Path>, object, MediaType>['data']>;
export type Pagination = Schemas['Pagination'];
/** For lists without a total. */
export type UncountedPagination = Schemas['UncountedPagination'];

const apis = new WeakMap<Transport, WorkspacesApi>();

/** The requests below `/api/v2`, with types from the service's OpenAPI document. */
export function workspacesApi(transport: Transport): WorkspacesApi {
  const existing = apis.get(transport);
  if (existing !== undefined) return existing;
  const headers = { 'Content-Type': 'application/vnd.api+json' };
  const api = createClient<paths, MediaType>({ baseUrl: location.origin, fetch: transport.fetch, headers });
  apis.set(transport, api);
  return api;
}
