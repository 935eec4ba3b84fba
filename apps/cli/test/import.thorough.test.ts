import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ref, resource } from '../../workspaces/test/start-workspaces';
import { behindProxy } from './behind-proxy';
import { keystead } from './run-keystead';

const stateOf = (serial: number, lineage: string, length = 5000) =>
  Buffer.from(JSON.stringify({ version: 4, serial, lineage, outputs: {}, resources: [], filler: 'x'.repeat(length) }));

describe('an import of organizations', () => {
  const source = behindProxy();
  const target = behindProxy();
  const lineage = randomUUID();
  // The last state is too large to be sent in the creating request.
  const states = [stateOf(1, lineage), stateOf(2, lineage), stateOf(5, lineage, 5 * 1024 * 1024)];

  const settings = {
    'auto-apply': true,
    'queue-all-runs': true,
    'structured-run-output-enabled': false,
    'working-directory': 'docks',
    'infra-version': '1.5.7',
    'trigger-prefixes': ['steel'],
  };

  const run = (...more: string[]) =>
    keystead(
      [
        'workspaces',
        'import',
        '--from',
        source.address(),
        '--to',
        target.address(),
        '--organization',
        'harbour',
        '--format',
        'json',
        ...more,
      ],
      {
        IMPORT_TOKEN: source.workspaces.admin.token ?? '',
        WORKSPACES_TOKEN: target.workspaces.admin.token ?? '',
      },
    );

  beforeAll(async () => {
    const { admin } = source.workspaces;
    await source.workspaces.organization('harbour', { 'session-timeout': 60 });
    const project = await admin
      .post('organizations/harbour/projects', resource('projects', { name: 'docks' }))
      .expect(201);
    const team = await admin.post('organizations/harbour/teams', resource('teams', { name: 'deck' })).expect(201);
    const { body } = await admin
      .post(
        'organizations/harbour/workspaces',
        resource('workspaces', { name: 'cranes', ...settings }, { project: ref('projects', project.body.data.id) }),
      )
      .expect(201);
    const id = body.data.id as string;
    for (const attributes of [
      { key: 'region', value: 'west', category: 'env' },
      { key: 'password', value: 'hunter2', category: 'env', sensitive: true },
    ]) {
      await admin.post(`workspaces/${id}/vars`, resource('vars', attributes)).expect(201);
    }
    await admin.post(`workspaces/${id}/relationships/tags`, {
      data: [{ type: 'tags', attributes: { name: 'steel' } }],
    });
    await admin
      .post(
        'team-workspaces',
        resource(
          'team-workspaces',
          { access: 'write' },
          {
            team: ref('teams', team.body.data.id),
            workspace: ref('workspaces', id),
          },
        ),
      )
      .expect(201);
    await admin
      .patch(`workspaces/${id}/tag-bindings`, {
        data: [{ type: 'tag-bindings', attributes: { key: 'tier', value: 'one' } }],
      })
      .expect(200);
    await admin
      .post(
        'team-projects',
        resource(
          'team-projects',
          { access: 'read' },
          { team: ref('teams', team.body.data.id), project: ref('projects', project.body.data.id) },
        ),
      )
      .expect(201);
    const set = resource(
      'varsets',
      { name: 'common', priority: true },
      {
        workspaces: { data: [{ type: 'workspaces', id }] },
        projects: { data: [{ type: 'projects', id: project.body.data.id }] },
        vars: { data: [{ type: 'vars', attributes: { key: 'owner', value: 'port', category: 'terraform' } }] },
      },
    );
    await admin.post('organizations/harbour/varsets', set).expect(201);
    // `quays` may read the state of `cranes`, and gets a run after its applies.
    const { id: quays } = await source.workspaces.workspace('harbour', 'quays');
    await admin
      .post(`workspaces/${id}/relationships/remote-state-consumers`, { data: [{ type: 'workspaces', id: quays }] })
      .expect(204);
    await admin
      .post(`workspaces/${quays}/run-triggers`, resource('run-triggers', {}, { sourceable: ref('workspaces', id) }))
      .expect(201);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    for (const state of states) {
      const { serial } = JSON.parse(state.toString());
      await admin
        .post(
          `workspaces/${id}/state-versions`,
          resource('state-versions', {
            serial,
            md5: createHash('md5').update(state).digest('hex'),
            lineage,
            state: state.toString('base64'),
          }),
        )
        .expect(201);
    }
    await admin.post(`workspaces/${id}/actions/unlock`, {}).expect(200);
  });

  it('is planned without writing anything', async () => {
    const planned = await run('--plan', '--history');
    expect([planned.code, planned.said.includes('organization harbour')]).toEqual([0, true]);
    expect(JSON.parse(planned.printed)).toMatchObject({
      plan: true,
      created: {
        organization: 1,
        project: 1,
        team: 1,
        workspace: 2,
        variable: 3,
        tag: 1,
        'key-value tag': 1,
        grant: 2,
        'state version': 3,
        'variable set': 1,
        'remote state consumer': 1,
        'run trigger': 1,
      },
    });
    await target.workspaces.admin.get('organizations/harbour').expect(404);
  });

  it('copies all that it can, waits after a rate limit, and lists the remaining steps', async () => {
    target.beBusy(3);
    const { code, printed, said } = await run();
    expect([code, said.split('\n').filter((line) => line.startsWith('{"note":"by hand'))]).toEqual([
      0,
      expect.arrayContaining([expect.stringContaining('sensitive variable password')]),
    ]);
    expect(JSON.parse(printed).created).toMatchObject({ project: 1, team: 1, 'state version': 1 });
    const { admin } = target.workspaces;
    const { body } = await admin.get('organizations/harbour/workspaces/cranes?include=project').expect(200);
    expect(body.data.attributes).toMatchObject({
      ...settings,
      'tag-names': ['steel'],
      locked: false,
    });
    expect(body.included[0].attributes.name).toBe('docks');
    const variables = await admin.get(`workspaces/${body.data.id}/vars`).expect(200);
    expect(
      variables.body.data.map((one: { attributes: { key: string; value: unknown } }) => one.attributes.value),
    ).toEqual(expect.arrayContaining(['west', null]));
    const current = await admin.get(`workspaces/${body.data.id}/current-state-version`).expect(200);
    expect(current.body.data.attributes).toMatchObject({ serial: 5 });
    const download = new URL(current.body.data.attributes['hosted-state-download-url']);
    const bytes = await fetch(download, { headers: { Authorization: `Bearer ${admin.token}` } });
    // Compared as whole buffers: toEqual would compare each byte.
    expect(Buffer.from(await bytes.arrayBuffer()).equals(states[2]!)).toBe(true);
    const quays = (await admin.get('organizations/harbour/workspaces/quays').expect(200)).body.data.id;
    const names = async (path: string) =>
      (await admin.get(path).expect(200)).body.data.map(
        (one: { id: string; attributes: Record<string, unknown> }) =>
          one.attributes.name ?? one.attributes.key ?? one.attributes.access ?? one.attributes['sourceable-name'],
      );
    expect(await names(`workspaces/${body.data.id}/relationships/remote-state-consumers`)).toEqual(['quays']);
    expect(await names(`workspaces/${quays}/run-triggers?filter[run-trigger][type]=inbound`)).toEqual(['cranes']);
    expect(await names(`workspaces/${body.data.id}/tag-bindings`)).toEqual(['tier']);
    expect(await names(`team-projects?filter[project][id]=${body.included[0].id}`)).toEqual(['read']);
    const [set] = (await admin.get('organizations/harbour/varsets').expect(200)).body.data;
    expect(set.attributes).toMatchObject({
      name: 'common',
      priority: true,
      'var-count': 1,
      'workspace-count': 1,
      'project-count': 1,
    });
  });

  it('can be repeated without doing anything twice', async () => {
    const { code, printed } = await run();
    expect([code, JSON.parse(printed).created]).toEqual([0, {}]);
    expect(JSON.parse(printed).present).toMatchObject({
      organization: 1,
      workspace: 2,
      variable: 3,
      'run trigger': 1,
      'state version': 1,
    });
  });

  it('continues with new content, and skips states that are older than ours', async () => {
    const { admin } = source.workspaces;
    await admin.post('organizations/harbour/workspaces', resource('workspaces', { name: 'cables' })).expect(201);
    const { code, printed } = await run('--history');
    expect([code, JSON.parse(printed).created]).toEqual([0, { workspace: 1 }]);
    expect(JSON.parse(printed).left).toEqual(expect.arrayContaining([expect.stringContaining('2 states are older')]));
  });

  it.each([
    ['an unknown token', { IMPORT_TOKEN: 'x.kswsv1.y' }, 2, '401'],
    ['no token', { IMPORT_TOKEN: '' }, 1, 'IMPORT_TOKEN'],
  ])('stops at %s', async (_, env, code, message) => {
    const args = [
      'workspaces',
      'import',
      '--from',
      source.address(),
      '--to',
      target.address(),
      '--organization',
      'harbour',
    ];
    const ran = await keystead(args, { WORKSPACES_TOKEN: 'any', ...env });
    expect([ran.code, ran.said]).toEqual([code, expect.stringContaining(message)]);
  });
});
