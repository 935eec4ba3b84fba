import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { generatedSession } from '@keystead/testing';
import createClient from 'openapi-fetch';
import { startSecrets } from './start-secrets';

const head = `import type createClient from 'openapi-fetch';
import type { paths } from './api';
type Make = typeof createClient;
`;

describe('a client generated from the OpenAPI document', () => {
  const secrets = startSecrets();
  const document = async () => (await secrets.root.read('sys/internal/specs/openapi').expect(200)).body;
  const baseUrl = () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}/v1`;

  it('uses policies, tokens, mounts and private storage', async () => {
    const session = await generatedSession(
      await document(),
      `${head}
export async function session(make: Make, baseUrl: string, token: string) {
  const root = make<paths>({ baseUrl, headers: { 'X-Service-Token': token } });
  const policy = 'path "cubbyhole/*" { capabilities = ["create", "read", "update", "list"] }';
  const written = await root.POST('/sys/policies/acl/{name}', { params: { path: { name: 'typed' } }, body: { policy } });
  const read = await root.GET('/sys/policies/acl/{name}', { params: { path: { name: 'typed' } } });
  const made = await root.POST('/auth/token/create', { body: { policies: ['typed'], ttl: '10m' } });
  const mounted = await root.POST('/sys/mounts/{path}', { params: { path: { path: 'typed' } }, body: { type: 'kv' } });
  const child = make<paths>({ baseUrl, headers: { 'X-Service-Token': made.data?.auth?.client_token ?? '' } });
  const self = await child.GET('/auth/token/lookup-self');
  const shown = read.data?.data;
  return {
    statuses: [written.response.status, mounted.response.status, self.response.status],
    policy: shown && 'policy' in shown ? shown.policy : undefined,
    policies: self.data?.data?.policies,
    seconds: made.data?.auth?.lease_duration,
  };
}`,
    );
    expect(session.faults).toEqual([]);
    const result = await session.run(createClient, baseUrl(), secrets.rootToken);
    expect(result).toEqual({
      statuses: [204, 204, 200],
      policy: 'path "cubbyhole/*" { capabilities = ["create", "read", "update", "list"] }',
      policies: ['default', 'typed'],
      seconds: 600,
    });
  });

  it('does not compile with a path or a field that does not exist', async () => {
    const { faults } = await generatedSession(
      await document(),
      `${head}
export async function session(make: Make, baseUrl: string) {
  const root = make<paths>({ baseUrl });
  await root.GET('/sys/nonsense', {});
  const made = await root.POST('/auth/token/create', { body: { ttl: '10m' } });
  return made.data?.auth?.client_tokn;
}`,
    );
    expect(faults).toEqual([expect.stringContaining('nonsense'), expect.stringContaining('client_tokn')]);
  });
});
