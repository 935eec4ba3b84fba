import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { grant, team, teamToken } from './members';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const stateWith = (providers: readonly string[], version: string) => {
  const resources = providers.map((provider, at) => ({
    mode: 'managed',
    type: 'thing',
    name: `n${at}`,
    provider,
    instances: [{ schema_version: 0, attributes: {} }],
  }));
  return JSON.stringify({ version: 4, terraform_version: version, serial: 1, lineage: 'l', outputs: {}, resources });
};
const aws = 'provider["registry.terraform.io/hashicorp/aws"]';
const inModule = 'module.net.provider["registry.terraform.io/hashicorp/aws"].west';
const old = 'provider.null';

describe('the explorer', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const ids: Record<string, string> = {};
  const sql = (text: string, values: unknown[] = []) => workspaces.service.pool.query(text, values);
  const ask = async (query: string, client: Client = admin) =>
    (await client.get(`organizations/acme/explorer?${query}`).expect(200)).body;
  const rows = async (query: string, client?: Client): Promise<Record<string, unknown>[]> =>
    (await ask(query, client)).data.map(({ attributes }: { attributes: Record<string, unknown> }) => attributes);
  const names = async (filter: string) => (await rows(`type=workspaces&${filter}`)).map((row) => row['workspace-name']);

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other');
    await workspaces.workspace('other', 'unseen');
    const made = async (name: string, providers: readonly string[], attributes: object = {}) => {
      const { id } = await workspaces.workspace('acme', name, attributes);
      ids[name] = id;
      if (providers.length === 0) return;
      const text = stateWith(providers, '1.9.8');
      const md5 = createHash('md5').update(text).digest('hex');
      await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
      await admin
        .post(
          `workspaces/${id}/state-versions`,
          resource('state-versions', { serial: 1, md5, state: Buffer.from(text).toString('base64') }),
        )
        .expect(201);
      await admin.post(`workspaces/${id}/actions/unlock`, {}).expect(200);
    };
    await made('app', [aws, inModule, old]);
    await made('db', [aws], { 'terraform-version': '1.10.5' });
    await made('empty', []);
    await admin
      .post(`workspaces/${ids.app}/relationships/tags`, { data: [{ type: 'tags', attributes: { name: '=sum(A1)' } }] })
      .expect((answer) => expect([204, 422]).toContain(answer.status));
    await sql(
      `INSERT INTO run (id, workspace_id, status, timestamps) VALUES ('run-a', $1, 'applied', '{"applied-at":"2026-01-02T03:04:05+00:00"}')`,
      [ids.db],
    );
    await sql(`UPDATE workspace SET current_run_id = 'run-a' WHERE id = $1`, [ids.db]);
    await sql(
      `INSERT INTO assessment_result (id, workspace_id, run_id, succeeded, drifted, resources_drifted, resources_undrifted,
         checks_passed, checks_failed, checks_errored, checks_unknown) VALUES ('asmtres-a', $1, 'run-a', true, true, 2, 5, 3, 1, 0, 0)`,
      [ids.db],
    );
    await sql(`UPDATE workspace SET current_assessment_result_id = 'asmtres-a' WHERE id = $1`, [ids.db]);
  });

  it('shows workspaces with their run, state, drift and checks, by name', async () => {
    const { data, meta } = await ask('type=workspaces');
    expect(meta.pagination['total-count']).toBe(3);
    expect(data.map(({ id, type }: { id: string; type: string }) => [id, type])).toEqual(
      ['app', 'db', 'empty'].map((name) => [ids[name], 'visibility-workspace']),
    );
    expect(data[1].attributes).toMatchObject({
      'workspace-name': 'db',
      'organization-name': 'acme',
      'project-name': 'Default Project',
      'workspace-terraform-version': '1.10.5',
      'state-version-terraform-version': '1.9.8',
      'current-run-status': 'applied',
      'current-run-external-id': 'run-a',
      'current-run-applied-at': '2026-01-02T03:04:05.000Z',
      drifted: true,
      'resources-drifted': 2,
      'checks-passed': 3,
      'all-checks-succeeded': false,
      'provider-count': 1,
      providers: 'registry.terraform.io/hashicorp/aws',
      'module-count': 0,
      modules: null,
    });
    expect(data[2].attributes).toMatchObject({ drifted: false, providers: null, 'current-run-status': null });
  });

  it('counts the workspaces of each provider once, whichever module uses it', async () => {
    expect(await rows('type=providers&sort=-workspace_count')).toEqual([
      {
        name: 'aws',
        source: 'registry.terraform.io/hashicorp/aws',
        version: null,
        'workspace-count': 2,
        workspaces: 'app, db',
      },
      { name: 'null', source: 'null', version: null, 'workspace-count': 1, workspaces: 'app' },
    ]);
  });

  it('counts the workspaces of each tool version', async () => {
    const found = await rows('type=tf_versions&filter[0][version][is][0]=1.10.5');
    expect(found).toEqual([{ version: '1.10.5', 'workspace-count': 1, workspaces: 'db' }]);
  });

  it('counts the workspaces that use a version of a module of the registry', async () => {
    await sql(
      `INSERT INTO workspace_requirement (id, workspace_id, kind, source, version, "constraint", run_id)
       VALUES ('usage-a', $1, 'module', 'registry.test/acme/vpc/aws', '1.2.0', '~> 1.0', 'run-a'),
              ('usage-b', $1, 'module', 'registry.test/acme/vpc/aws', '1.2.0', '', 'run-a'),
              ('usage-c', $1, 'provider', 'registry.test/acme/aws', '1.2.0', '', 'run-a')`,
      [ids.app],
    );
    expect(await rows('type=modules')).toEqual([
      {
        name: 'vpc',
        source: 'registry.test/acme/vpc/aws',
        version: '1.2.0',
        'workspace-count': 1,
        workspaces: 'app',
      },
    ]);
    expect(await names('filter[0][modules][contains][0]=vpc/aws:1.2')).toEqual(['app']);
  });

  it.each([
    ['workspace_name', 'is', 'db', ['db']],
    ['workspace-name', 'is_not', 'db', ['app', 'empty']],
    ['workspace_name', 'contains', 'P', ['app', 'empty']],
    ['providers', 'does_not_contain', 'aws', ['empty']],
    ['providers', 'is_empty', '', ['empty']],
    ['current_run_status', 'is_not_empty', '', ['db']],
    ['resources_drifted', 'gt', '1', ['db']],
    ['resources_drifted', 'lteq', '1', ['app', 'empty']],
    ['provider_count', 'gteq', '2', ['app']],
    ['checks_failed', 'lt', '1', ['app', 'empty']],
    ['checks_failed', 'is', '1', ['db']],
    ['drifted', 'is', 'true', ['db']],
    ['drifted', 'is_not', 'true', ['app', 'empty']],
    ['current_run_applied_at', 'is_after', '2026-01-01', ['db']],
    ['current_run_applied_at', 'is_before', '2026-01-01', []],
    ['workspace_name', 'contains', '%', []],
  ])('filters by %s %s %s', async (field, operator, value, expected) => {
    expect(await names(`filter[0][${field}][${operator}][0]=${encodeURIComponent(value)}`)).toEqual(expected);
  });

  it('combines filters, sorts, and pages', async () => {
    const both = 'filter[0][providers][contains][0]=aws&filter[1][provider_count][gt][0]=1';
    expect(await names(both)).toEqual(['app']);
    expect(await names('sort=-workspace_name')).toEqual(['empty', 'db', 'app']);
    expect(await names('sort=current_run_status')).toEqual(['db', 'app', 'empty']);
    const second = await ask('type=workspaces&page[size]=2&page[number]=2');
    expect(second.data).toHaveLength(1);
    expect(second.meta.pagination).toMatchObject({ 'total-count': 3, 'total-pages': 2 });
    const beyond = await ask('type=workspaces&page[size]=2&page[number]=9');
    expect([beyond.data, beyond.meta.pagination['total-count']]).toEqual([[], 3]);
  });

  it('shows only the requested fields', async () => {
    expect(await rows('type=workspaces&fields[workspaces]=workspace_name,drifted')).toEqual([
      { 'workspace-name': 'app', drifted: false },
      { 'workspace-name': 'db', drifted: true },
      { 'workspace-name': 'empty', drifted: false },
    ]);
  });

  it.each([
    ['', 'type'],
    ['type=stacks', 'type'],
    ['type=workspaces&filter[0][secret][is][0]=x', 'filter[0][secret][is][0]'],
    ['type=workspaces&filter[0][workspace_name][gt][0]=x', 'filter[0][workspace_name][gt][0]'],
    ['type=workspaces&filter[0][checks_failed][is][0]=many', 'filter[0][checks_failed][is][0]'],
    ['type=workspaces&filter[0][drifted][is][0]=perhaps', 'filter[0][drifted][is][0]'],
    [
      'type=workspaces&filter[0][workspace_created_at][is_after][0]=soon',
      'filter[0][workspace_created_at][is_after][0]',
    ],
    ['type=providers&sort=workspace_name', 'sort'],
    ['type=providers&sort=nothing', 'sort'],
    ['type=workspaces&fields[workspaces]=constructor', 'fields[workspaces]'],
    ['type=workspaces&filter[0][workspace_name]=x', 'filter[0][workspace_name]'],
  ])('refuses %s by name', async (query, parameter) => {
    const { body } = await admin.get(`organizations/acme/explorer?${query}`).expect(400);
    expect(body.errors[0].source).toEqual({ parameter });
  });

  it('shows a team only its workspaces, and a stranger nothing', async () => {
    const crew = await team(workspaces, 'acme', 'crew');
    await grant(workspaces, crew, ids.db!, 'read');
    const client = await teamToken(workspaces, crew);
    expect((await rows('type=workspaces', client)).map((row) => row['workspace-name'])).toEqual(['db']);
    expect((await rows('type=providers', client)).map((row) => [row.name, row.workspaces])).toEqual([['aws', 'db']]);
    expect((await rows('type=tf_versions', client)).map((row) => row.workspaces)).toEqual(['db']);
    const stranger = await workspaces.person('stranger');
    await stranger.get('organizations/acme/explorer?type=workspaces').expect(404);
    await stranger.get('organizations/acme/explorer/export/csv?type=workspaces').expect(404);
  });

  it('exports the whole answer as CSV, in which no text is a formula', async () => {
    await sql(`UPDATE workspace SET vcs_identifier = '=1+1,"x"' WHERE id = $1`, [ids.app]);
    const { text, headers } = await admin
      .get(
        'organizations/acme/explorer/export/csv?type=workspaces&fields[workspaces]=workspace_name,vcs_repo_identifier,checks_failed&sort=-workspace_name',
      )
      .expect(200);
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(text).toBe(
      'workspace_name,vcs_repo_identifier,checks_failed\r\nempty,,0\r\ndb,,1\r\napp,"\'=1+1,""x""",0\r\n',
    );
  });
});
