import { describe, expect, it } from '@jest/globals';
import { generatedSession } from '@keystead/testing';
import createClient from 'openapi-fetch';
import { startWorkspaces } from './start-workspaces';

describe.each(['self-hosted', 'hosted'] as const)('the API description of the %s edition', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });

  it('lets a generated client use the service', async () => {
    const { port } = workspaces.server.address() as { port: number };
    const program = (name: string) => `import type createClient from 'openapi-fetch';
import type { paths } from './api';
export async function session(make: typeof createClient, baseUrl: string, token: string) {
  const client = make<paths>({ baseUrl, headers: { Authorization: 'Bearer ' + token } });
  const headers = { 'Content-Type': 'application/vnd.api+json' };
  const attributes = { ${name}: 'generated', email: 'g@example.com' };
  const body = { data: { type: 'organizations' as const, attributes } };
  const made = await client.POST('/api/v2/organizations', { body, headers });
  const params = { path: { organization_name: 'generated' } };
  const shown = await client.GET('/api/v2/organizations/{organization_name}', { params });
  const { email, 'created-at': since, permissions } = shown.data!.data!.attributes;
  const texts: [string, string] = [email, since];
  const query = { include: 'entitlement_set,default-project' };
  const whole = await client.GET('/api/v2/organizations/{organization_name}', { params: { ...params, query } });
  const project = whole.data!.data!.relationships['default-project'].data!;
  const type: 'projects' = project.type;
  const kinds = (whole.data?.included ?? []).map((one) =>
    one.type === 'projects' ? one.attributes.name : one.type === 'entitlement-sets' ? one.attributes.agents : one,
  );
  const found = (whole.data?.included ?? []).find(({ id }) => id === project.id)?.type === type;
  return [made.response.status, shown.data?.data?.id, texts.length, permissions['can-update'] === true, found, kinds];
}`;
    const { body: document } = await workspaces.anyone.get('openapi.json').expect(200);
    const session = await generatedSession(document, program('name'));
    expect(session.faults).toEqual([]);
    const url = `http://127.0.0.1:${port}`;
    expect(await session.run(createClient, url, workspaces.admin.token)).toEqual([
      201,
      'generated',
      2,
      true,
      true,
      expect.arrayContaining(['Default Project', true]),
    ]);
    const wrong = program('nom').replace("const type: 'projects'", "const type: 'teams'");
    expect((await generatedSession(document, wrong)).faults).toEqual([
      expect.stringContaining('nom'),
      expect.stringContaining(`Type '"projects"' is not assignable to type '"teams"'`),
      // The order in which the compiler prints the types of a union does not matter.
      expect.stringMatching(/types '(?=.*"projects")(?=.*"entitlement-sets").*' and '"teams"' have no overlap/),
    ]);
  });
});
