import { describe, expect, it } from '@jest/globals';
import { generatorFaults } from '@keystead/testing';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import request from 'supertest';
import { AnswerSchemas } from './answer-schemas';
import { startWorkspaces } from './start-workspaces';

interface Document {
  paths: Record<string, Record<string, { operationId: string; responses: object }>>;
}

describe.each(['self-hosted', 'hosted'] as const)('the API description of the %s edition', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const read = async (): Promise<Document> => (await workspaces.anyone.get('openapi.json').expect(200)).body;

  it('is valid for two validators', async () => {
    const document = await read();
    const first = await new Validator().validate({ ...structuredClone(document) });
    expect(first.errors ?? []).toEqual([]);
    const second = await validate(structuredClone(document) as never);
    expect(second).toMatchObject({ valid: true });
  });

  it('has a type for everything that may be null', async () => {
    // Without a type, `nullable` has no meaning in OpenAPI 3.0, and validators refuse the schema.
    const untyped = partsOf(await read()).filter((part) => 'nullable' in part && !('type' in part));
    expect(untyped).toEqual([]);
  });

  it('limits every whole number in requests to the range of the database', async () => {
    const parts = partsOf(await read()).flatMap((part) => Object.entries((part as Part).properties ?? {}));
    const numbers = parts.filter(([, { type, minimum }]) => type === 'integer' && minimum !== undefined);
    expect(numbers.length).toBeGreaterThan(3);
    const unbounded = numbers.filter(([, { maximum }]) => maximum === undefined || maximum > 2_147_483_647);
    // The serial of a state comes from the tool and has 64 bits; lifetimes of tokens are stored as JSON.
    expect([...new Set(unbounded.map(([name]) => name))].sort()).toEqual(['max-ttl-ms', 'serial']);
    expect(Math.max(...unbounded.map(([, { maximum = 0 }]) => maximum))).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
  });

  it('lists the choices of every status, mode, category and visibility that it shows', async () => {
    const { components } = (await read()) as unknown as { components: { schemas: Record<string, Part> } };
    const shown = Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties.attributes?.properties ?? {}).map(([attribute, schema]) => ({
        at: `${name} ${attribute}`,
        schema,
      })),
    );
    const closed = shown.filter(({ at }) => /^\w+Resource .*\b(status|execution-mode|category|visibility)$/.test(at));
    expect(closed.length).toBeGreaterThan(8);
    expect(closed.filter(({ schema }) => schema.enum === undefined).map(({ at }) => at)).toEqual([]);
  });

  it('names the status of every answer, so that a tool can recognise unintended ones', async () => {
    const { paths } = await read();
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const vague = operations.filter(({ responses }) => 'default' in responses || '500' in responses);
    expect(vague.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('names the refusal of every change that breaks a rule, with a body or without', async () => {
    const { paths } = await read();
    const silent = Object.entries(paths).flatMap(([at, verbs]) =>
      Object.entries(verbs).flatMap(([verb, { responses }]) =>
        verb === 'get' || '422' in responses ? [] : [`${verb} ${at}`],
      ),
    );
    expect(silent).toEqual([]);
  });

  it('names every operation once', async () => {
    const { paths } = await read();
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(80);
  });

  it('names operations like methods', async () => {
    const { paths } = await read();
    const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
    expect(ids.filter((id) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(id))).toEqual([]);
    const named = (verb: string, path: string) => paths[`/api/v2/${path}`]?.[verb]?.operationId;
    const ofOrganization = 'organizations/{organization_name}';
    expect(named('get', 'workspaces/{workspace_id}')).toBe('workspaces_read');
    expect(named('get', `${ofOrganization}/workspaces`)).toBe('workspaces_list');
    expect(named('post', `${ofOrganization}/workspaces`)).toBe('workspaces_create');
    expect(named('patch', `${ofOrganization}/workspaces/{name}`)).toBe('workspaces_update_by_name');
    expect(named('post', 'workspaces/{workspace_id}/actions/force-unlock')).toBe('workspaces_force_unlock');
    expect(named('get', `${ofOrganization}/entitlement-set`)).toBe('organizations_entitlement_set_read');
    expect(named('delete', 'teams/{team_id}/relationships/users')).toBe('teams_users_remove');
    expect(named('put', 'state-versions/{state_version_id}/content/raw')).toBe('state_versions_content_raw_upload');
    expect(named('get', 'organization-memberships')).toBe('organization_memberships_list_own');
  });

  it('has no obstacles for client generators: ambiguous names, unknown media types', async () => {
    expect(generatorFaults(await read())).toEqual([]);
  });

  it('is generated only once', async () => {
    const first = await workspaces.anyone.get('openapi.json').expect(200);
    expect(first.headers.etag).toMatch(/^"[\w-]{27}"$/);
    const again = await workspaces.anyone.get('openapi.json').set('If-None-Match', first.headers.etag!).expect(304);
    expect(again.text).toBe('');
  });

  it('describes only the endpoints of the edition', async () => {
    const { paths } = await read();
    const isSelfHosted = edition === 'self-hosted';
    expect('/api/v2/admin/general-settings' in paths).toBe(isSelfHosted);
    expect('/api/v2/organizations/{organization_name}/subscription' in paths).toBe(!isSelfHosted);
  });

  it('describes the special answers of signing in', async () => {
    const { paths } = await read();
    const types = (path: string, status: number) => {
      const { responses } = paths[path]!.post!;
      return Object.keys((responses as Record<number, { content: object }>)[status]?.content ?? {});
    };
    const refused = await workspaces.anyone.post('session', {
      data: { type: 'sessions', attributes: { username: 'unknown', password: 'wrong' } },
    });
    expect(types('/api/v2/session', refused.status)).toEqual([refused.type]);
    const exchanged = await request(workspaces.server).post('/oauth2/token').type('form').send({ grant_type: 'x' });
    expect(types('/oauth2/token', exchanged.status)).toContain(exchanged.type);
  });

  it('checks answers against the description: status, type, every attribute, and no undeclared ones', async () => {
    await workspaces.organization(`held-${edition}`);
    const path = `/api/v2/organizations/held-${edition}`;
    const { text, headers } = await workspaces.admin.get(path).expect(200);
    const problemsOf = (change: (attributes: Record<string, unknown>, body: Sent) => void, more: object = {}) => {
      const watch = new AnswerSchemas();
      const body = JSON.parse(text);
      change(body.data.attributes, body);
      const answer = { req: { method: 'GET', path }, status: 200, headers, text: JSON.stringify(body), ...more };
      watch.add(answer as never);
      return watch.problems(workspaces.service);
    };
    expect(problemsOf(() => {})).toEqual([]);
    const name = 'GET /api/v2/organizations/{organization_name}';
    expect(problemsOf((one) => delete one.email)).toEqual([
      expect.stringContaining(`${name} 200: body: /data/attributes`),
    ]);
    expect(problemsOf((one) => Object.assign(one, { email: null }))).toEqual([
      expect.stringContaining('/data/attributes/email'),
    ]);
    expect(problemsOf((one) => Object.assign(one, { fresh: 1 }))).toEqual([
      expect.stringContaining('additional properties'),
    ]);
    const relationship = (name: string, value: unknown) =>
      problemsOf((_, { data }) => Object.assign(data.relationships, { [name]: value }));
    expect(relationship('default-project', undefined)).toEqual([expect.stringContaining('/data/relationships')]);
    expect(relationship('default-project', { data: { id: 'ws-1', type: 'workspaces' } })).toHaveLength(1);
    expect(relationship('default-project', { links: { related: '/' } })).toHaveLength(1);
    expect(relationship('default-project', { data: { id: 'prj-1', type: 'projects' } })).toEqual([]);
    expect(relationship('default-project', { data: null })).toEqual([]);
    expect(relationship('fresh', { data: null })).toEqual([expect.stringContaining('additional properties')]);
    const [entitlements] = JSON.parse((await workspaces.admin.get(`${path}?include=entitlement_set`).expect(200)).text)
      .included as object[];
    const including = (...types: string[]) =>
      problemsOf((_, body) => {
        body.included = types.map((type) => ({ ...entitlements, type }));
      });
    expect(including('entitlement-sets')).toEqual([]);
    expect(including('entitlement-sets', 'teams')).toEqual([expect.stringContaining('/included/1')]);
    expect(problemsOf(() => {}, { status: 418 })).toEqual([`${name} 418: not announced`]);
    expect(problemsOf(() => {}, { headers: { 'content-type': 'text/plain' } })).toHaveLength(1);
  });
});

interface Sent {
  data: { relationships: object };
  included?: unknown[];
}

interface Part {
  properties?: Record<string, Part & { type?: string; minimum?: number; maximum?: number; enum?: unknown[] }>;
}

/** Every object in a document. */
function partsOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(partsOf)];
}
