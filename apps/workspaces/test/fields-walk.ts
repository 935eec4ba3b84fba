import { randomUUID } from 'node:crypto';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import type { Edition } from '../src/kernel/installation/edition';
import { resources } from '../src/resources/registry';
import { type Example, examples, type Making, type World } from './at-once-examples';
import { worldOf } from './at-once-world';
import { resource, type Workspaces } from './start-workspaces';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
export type Json = any;

export const nested = (steps: readonly string[], value: unknown): Json =>
  steps.reduceRight<unknown>((held, step) => ({ [step]: held }), value);
export const inside = (held: Json, steps: readonly string[]): unknown =>
  steps.reduce((value, step) => value?.[step], held);
export const merged = (one: Json, other: Json): Json =>
  typeof one === 'object' && one !== null && typeof other === 'object' && other !== null && !Array.isArray(other)
    ? Object.fromEntries(
        [...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => [
          key,
          key in other ? merged(one[key], other[key]) : one[key],
        ]),
      )
    : other;

/** An operation with a body, as the document of an edition describes it. */
export interface Taking {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** The type of the document; empty if the body is not one. */
  readonly type: string;
  readonly schema: Json;
  readonly making: Making;
}

/** Attributes that only the hosted edition has. */
const hostedExamples: Readonly<Record<string, Making>> = {
  'POST /admin/organizations/:organization_name/subscription': async (world) => {
    const name = world.fresh();
    await world.root('POST', 'organizations', resource('organizations', { name, email: 'a@b.co' }));
    const [first] = await world.root('GET', 'feature-sets');
    const plan = { 'feature-set': { data: { type: 'feature-sets', id: first.id } } };
    return { at: { organization_name: name }, body: () => resource('subscription', {}, plan) };
  },
};

/** The text that declares the resource of an endpoint, for slices of a walk. */
export function declarationOf({ method, path }: Pick<Endpoint, 'method' | 'path'>): string {
  const isIt = (one: Endpoint) => one.method === method && one.path === path;
  return `name: '${resources.find(({ endpoints }) => endpoints.some(isIt))!.name}'`;
}

/** Every operation of an edition that takes a body and reads it as a whole. */
export function takingOf(edition: Edition): Taking[] {
  return resources
    .flatMap(({ endpoints }) => endpoints)
    .filter((endpoint) => endpoint.body && (endpoint.edition ?? edition) === edition)
    .map((endpoint) => {
      const name = `${endpoint.method} ${endpoint.path}`;
      const schema = endpoint.body!.jsonSchema(edition) as Json;
      const type = schema.properties?.data?.properties?.type?.enum?.[0] ?? '';
      return { name, endpoint, type, schema, making: hostedExamples[name] ?? examples[name] ?? 'has no example' };
    });
}

const idempotent = resources
  .flatMap(({ endpoints }) => endpoints)
  .filter((endpoint) => endpoint.idempotent)
  .map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`));
const isIdempotent = (method: string, path: string): boolean =>
  method === 'POST' && idempotent.some((pattern) => pattern.test(path.startsWith('/') ? path : `/${path}`));

/** Sends the requests of a walk and reads back their effects. */
export function walkOf(workspaces: Workspaces) {
  const send = async (token: string, method: string, path: string, body?: object, headers?: object): Promise<Json> => {
    const key = randomUUID();
    for (;;) {
      const test = workspaces.as(token)[method.toLowerCase() as 'post'](path, body);
      // A repeated request may have been done before.
      if (isIdempotent(method, path)) test.set('Idempotency-Key', key);
      if (path.startsWith('/scim/')) test.set('Content-Type', 'application/scim+json');
      for (const [name, value] of Object.entries(headers ?? {})) test.set(name, value);
      const answer = await test;
      // This test ignores answers that only a stalled machine gives.
      if (answer.status !== 503 || !answer.text.includes('storage is unavailable')) return answer;
    }
  };
  const world: World = worldOf(workspaces, async (token, method, path, body, headers) => {
    const answer = await send(token, method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    if (path.startsWith('/')) return answer.body;
    const { data, meta } = answer.body ?? {};
    return meta === undefined || Array.isArray(data) ? data : { ...data, meta };
  });
  /** A path with the parameters of an example. */
  const at = (path: string, example: Example): string =>
    path.replace(/:(\w+)/g, (_all, param: string) => example.at?.[param] ?? '');
  return {
    send,
    world,
    at,
    make: async ({ name, making }: Taking): Promise<Example> => {
      if (typeof making === 'string') throw new Error(`${name} ${making}`);
      return making(world);
    },
    /** Sends a body like an example does. */
    ask: ({ endpoint }: Taking, example: Example, body: object): Promise<Json> => {
      const path = at(endpoint.path, example);
      return send(example.token ?? workspaces.admin.token!, endpoint.method, path, body, example.headers);
    },
    read: async (path: string): Promise<Json> => (await send(workspaces.admin.token!, 'GET', path)).body?.data,
  };
}
