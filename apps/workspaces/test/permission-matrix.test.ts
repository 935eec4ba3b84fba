import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { OrganizationRight } from '../src/kernel/access/capabilities';
import { configured, startRun } from './configurations';
import { grant, grantProject, member, organizationToken, project, team, teamToken } from './members';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(120_000);

const workspaceLevels = ['read', 'plan', 'write', 'admin'] as const;
const projectLevels = ['read', 'write', 'maintain', 'admin'] as const;
const rights = [
  'read-workspaces',
  'read-projects',
  'manage-workspaces',
  'manage-projects',
  'manage-vcs-settings',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'manage-policies',
  'manage-policy-overrides',
  'manage-agent-pools',
  'manage-modules',
] as const satisfies readonly OrganizationRight[];

const ws = (from: (typeof workspaceLevels)[number]) =>
  workspaceLevels.slice(workspaceLevels.indexOf(from)).map((level) => `workspace ${level}`);
const prj = (from: (typeof projectLevels)[number]) =>
  projectLevels.slice(projectLevels.indexOf(from)).map((level) => `project ${level}`);
const may = (...names: OrganizationRight[]) => names.map((name) => `may ${name}`);

const owners = ['owner', "owners' token", 'site administrator who owns'];
const organization = ['organization token'];
/** Callers with administrator rights on every workspace. */
const administrators = [...owners, ...may('manage-workspaces', 'manage-projects')];
const writeToken = ["a writing team's token"];
const custom = {
  variables: ['custom variables'],
  lock: ['custom locking'],
  outputs: ['custom outputs'],
  none: ['custom nothing'],
};
const customs = Object.values(custom).flat();

/** Callers whose grants include reading runs, and so show the workspace. */
const seers = [
  ...administrators,
  ...organization,
  ...ws('read'),
  ...prj('read'),
  ...customs,
  ...writeToken,
  ...may('read-workspaces', 'read-projects', 'manage-policies', 'manage-policy-overrides', 'manage-agent-pools'),
];
const planners = [...administrators, ...ws('plan'), ...prj('write'), ...writeToken];
const writers = [...administrators, ...ws('write'), ...prj('write'), ...writeToken];
const admins = [...administrators, ...ws('admin'), ...prj('maintain')];
const members = (all: string[]) =>
  all.filter((name) => !['anonymous', 'stranger', 'site administrator'].includes(name));

type Send = (client: Client) => Promise<{ status: number }>;

describe('permissions', () => {
  const workspaces = startWorkspaces();
  const callers = new Map<string, Client>();
  const known: Record<string, string> = {};

  beforeAll(async () => {
    await workspaces.organization('acme');
    known.project = await project(workspaces, 'acme', 'the project');
    const create = resource('workspaces', { name: 'web' }, { project: ref('projects', known.project) });
    known.workspace = (await workspaces.admin.post('organizations/acme/workspaces', create).expect(201)).body.data.id;
    await configured(workspaces, known.workspace!);
    const run = (await startRun(workspaces.admin, known.workspace!).expect(201)).body.data;
    known.run = run.id;
    known.plan = run.relationships.plan.data.id;
    const add = (name: string, client: Client) => callers.set(name, client);

    add('anonymous', workspaces.anyone);
    add('stranger', await workspaces.person('stranger'));
    add('site administrator', await workspaces.person('other-admin', { siteAdmin: true }));
    add('site administrator who owns', workspaces.admin);
    add('member', await member(workspaces, 'acme'));
    const listed = await workspaces.admin.get('organizations/acme/teams?filter[names]=owners').expect(200);
    known.owners = listed.body.data[0].id;
    add('owner', await member(workspaces, 'acme', [known.owners!]));
    add("owners' token", await teamToken(workspaces, known.owners!));
    add('organization token', await organizationToken(workspaces, 'acme'));
    for (const level of workspaceLevels) {
      const id = await team(workspaces, 'acme', `workspace-${level}`);
      await grant(workspaces, id, known.workspace!, level);
      add(`workspace ${level}`, await member(workspaces, 'acme', [id]));
      if (level === 'write') add("a writing team's token", await teamToken(workspaces, id));
    }
    const settings = {
      'custom variables': { variables: 'write' },
      'custom locking': { 'workspace-locking': true },
      'custom outputs': { 'state-versions': 'read-outputs' },
      'custom nothing': {},
    };
    for (const [name, given] of Object.entries(settings)) {
      const id = await team(workspaces, 'acme', name);
      await grant(workspaces, id, known.workspace!, 'custom', given);
      add(name, await member(workspaces, 'acme', [id]));
    }
    for (const level of projectLevels) {
      const id = await team(workspaces, 'acme', `project-${level}`);
      await grantProject(workspaces, id, known.project!, level);
      add(`project ${level}`, await member(workspaces, 'acme', [id]));
    }
    for (const right of rights) {
      const id = await team(workspaces, 'acme', `may-${right}`, [right]);
      add(`may ${right}`, await member(workspaces, 'acme', [id]));
    }
  }, 120_000);

  const at = (path: string) => path.replace(/:(\w+)/g, (_, name: string) => known[name]!);
  const get =
    (path: string): Send =>
    (client) =>
      client.get(at(path));
  const post =
    (path: string, body?: object): Send =>
    (client) =>
      client.post(at(path), body);
  const patch =
    (path: string, body: object): Send =>
    (client) =>
      client.patch(at(path), body);
  /** A document that is refused after the caller was accepted, so that nothing is created. */
  const wrong = (type: string) => ({ data: { type, attributes: { name: 7 } } });

  const rows: [what: string, send: Send, ok: number, allowed: string[]][] = [
    ['see the organization', get('organizations/acme'), 200, ['*', 'site administrator']],
    ['see the entitlements', get('organizations/acme/entitlement-set'), 200, ['*', 'site administrator']],
    ['change the organization', patch('organizations/acme', wrong('organizations')), 422, owners],
    ['list memberships', get('organizations/acme/organization-memberships'), 200, ['*']],
    [
      'invite',
      post('organizations/acme/organization-memberships', wrong('organization-memberships')),
      422,
      [...owners, ...organization, ...may('manage-membership', 'manage-teams', 'manage-organization-access')],
    ],
    [
      'create a team',
      post('organizations/acme/teams', wrong('teams')),
      422,
      [...owners, ...organization, ...may('manage-teams', 'manage-organization-access')],
    ],
    [
      'read the organization token',
      get('organizations/acme/authentication-token'),
      200,
      ['owner', 'site administrator who owns'],
    ],
    ['read audit events', get('organizations/acme/audit-events'), 200, [...owners, ...organization]],
    [
      'create a project',
      post('organizations/acme/projects', wrong('projects')),
      422,
      [...owners, ...organization, ...may('manage-projects')],
    ],
    [
      'see the project',
      get('projects/:project'),
      200,
      [
        ...owners,
        ...organization,
        ...ws('read'),
        ...customs,
        ...writeToken,
        ...prj('read'),
        ...may('read-projects', 'manage-projects', 'manage-workspaces'),
      ],
    ],
    [
      'change the project',
      patch('projects/:project', wrong('projects')),
      422,
      [...owners, ...organization, ...may('manage-projects'), ...prj('admin')],
    ],
    [
      'see who has access to the project',
      get('team-projects?filter[project][id]=:project'),
      200,
      [...owners, ...organization, ...may('manage-projects'), ...prj('admin')],
    ],
    ['see the workspace', get('workspaces/:workspace'), 200, seers],
    ['see the workspace by name', get('organizations/acme/workspaces/web'), 200, seers],
    [
      'change the workspace',
      patch('workspaces/:workspace', { data: { type: 'workspaces', attributes: { 'auto-apply': 'x' } } }),
      422,
      [...admins, ...organization],
    ],
    [
      'see who has access to the workspace',
      get('team-workspaces?filter[workspace][id]=:workspace'),
      200,
      [...admins, ...organization],
    ],
    ['list the runs', get('workspaces/:workspace/runs'), 200, seers],
    ['see the run', get('runs/:run'), 200, seers],
    ['see the plan', get('runs/:run/plan'), 200, seers],
    ['see the events of the run', get('runs/:run/run-events'), 200, seers],
    ['read the plan in full', get('runs/:run/plan/json-output'), 204, [...admins, ...organization]],
    [
      'export the plan',
      async (client) =>
        client.post(
          'plan-exports',
          resource('plan-exports', { 'data-type': 'sentinel-mock-bundle-v0' }, { plan: ref('plans', known.plan!) }),
        ),
      422,
      [...admins, ...organization],
    ],
    ['read the schemas of the plan', get('runs/:run/plan/json-schema'), 204, seers],
    ['see the configuration of the run', get('runs/:run/configuration-version'), 200, seers],
    ['download the configuration of the run', get('runs/:run/configuration-version/download'), 302, seers],
    ['read the plan redacted', get('runs/:run/plan/json-output-redacted'), 204, seers],
    [
      'create a configuration',
      post('workspaces/:workspace/configuration-versions', {
        data: { type: 'configuration-versions', attributes: { speculative: 7 } },
      }),
      422,
      planners,
    ],
    [
      'start a run',
      (client) => startRun(client, known.workspace!, { 'refresh-only': true, 'target-addrs': ['a.b'] }),
      422,
      planners,
    ],
    [
      'start a destroy run',
      (client) => startRun(client, known.workspace!, { 'is-destroy': true, 'refresh-only': true }),
      422,
      writers,
    ],
    ['comment on the run', post('runs/:run/comments', wrong('comments')), 422, planners],
    ['apply the run', post('runs/:run/actions/apply', {}), 409, writers],
    ['force-cancel the run', post('runs/:run/actions/force-cancel', {}), 409, admins],
    [
      'read variables',
      get('workspaces/:workspace/vars'),
      200,
      [
        ...administrators,
        ...organization,
        ...ws('read'),
        ...prj('read'),
        ...custom.variables,
        ...writeToken,
        ...may('read-workspaces', 'read-projects'),
      ],
    ],
    [
      'write variables',
      post('workspaces/:workspace/vars', wrong('vars')),
      422,
      [...writers, ...organization, ...custom.variables],
    ],
    [
      'write several variables',
      (client) => client.patch(at('workspaces/:workspace/relationships/vars'), { data: [wrong('vars').data] }),
      422,
      [...writers, ...organization, ...custom.variables],
    ],
    [
      'tag the workspace',
      post('workspaces/:workspace/relationships/tags', { data: [{ type: 'tags' }] }),
      422,
      [...admins, ...organization],
    ],
    ['list SSH keys', get('organizations/acme/ssh-keys'), 200, [...admins, ...may('manage-vcs-settings')]],
    [
      'store an SSH key',
      post('organizations/acme/ssh-keys', wrong('ssh-keys')),
      422,
      [...owners, ...may('manage-vcs-settings')],
    ],
    [
      'list VCS connections',
      get('organizations/acme/oauth-clients'),
      200,
      [...admins, ...organization, ...may('manage-vcs-settings')],
    ],
    [
      'create a VCS connection',
      post('organizations/acme/oauth-clients', wrong('oauth-clients')),
      422,
      [...owners, ...organization, ...may('manage-vcs-settings')],
    ],
    [
      'create an agent pool',
      post('organizations/acme/agent-pools', wrong('agent-pools')),
      422,
      [...owners, ...organization, ...may('manage-agent-pools')],
    ],
    [
      'create a variable set',
      post('organizations/acme/varsets', { data: { type: 'varsets', attributes: { name: '' } } }),
      422,
      [...administrators, ...organization, ...prj('admin')],
    ],
    ['administer the site', get('admin/organizations'), 200, ['site administrator', 'site administrator who owns']],
  ];

  it.each(rows)('%s', async (_what, send, ok, allowed) => {
    const permitted = allowed.includes('*') ? [...members([...callers.keys()]), ...allowed] : allowed;
    const answers: Record<string, number> = {};
    const expected: Record<string, number> = {};
    for (const [name, client] of callers) {
      answers[name] = (await send(client)).status;
      expected[name] = name === 'anonymous' ? 401 : permitted.includes(name) ? ok : 404;
    }
    expect(answers).toEqual(expected);
  });

  it('allow locking and unlocking with the right for it, and forced unlocking only to administrators', async () => {
    for (const [name, client] of callers) {
      const locks = [...writers, ...organization, ...custom.lock].includes(name);
      const status = (await client.post(at('workspaces/:workspace/actions/lock'))).status;
      expect([name, status]).toEqual([name, name === 'anonymous' ? 401 : locks ? 200 : 404]);
      if (!locks) await workspaces.admin.post(at('workspaces/:workspace/actions/lock')).expect(200);
      const forced = (await client.post(at('workspaces/:workspace/actions/force-unlock'))).status;
      const forces = [...admins, ...organization].includes(name);
      expect([name, forced]).toEqual([name, name === 'anonymous' ? 401 : forces ? 200 : 404]);
      if (!forces) await workspaces.admin.post(at('workspaces/:workspace/actions/force-unlock')).expect(200);
    }
  });

  it('are shown exactly as the endpoints enforce them', async () => {
    for (const [name, client] of callers) {
      const { status, body } = await client.get(at('workspaces/:workspace'));
      if (status !== 200) continue;
      const { permissions } = body.data.attributes;
      const shown = {
        update: permissions['can-update'],
        variables: permissions['can-update-variable'],
        lock: permissions['can-lock'],
        apply: permissions['can-queue-apply'],
        states: permissions['can-create-state-versions'],
        outputs: permissions['can-read-state-outputs'],
      };
      const runs = (all: string[]) => all.includes(name) && name !== 'organization token';
      expect([name, shown]).toEqual([
        name,
        {
          update: [...admins, ...organization].includes(name),
          variables: [...writers, ...organization, ...custom.variables].includes(name),
          lock: [...writers, ...organization, ...custom.lock].includes(name),
          apply: runs(writers),
          states: runs(writers),
          outputs: [
            ...administrators,
            ...organization,
            ...ws('read'),
            ...prj('read'),
            ...custom.outputs,
            ...writeToken,
            ...may('read-workspaces', 'read-projects'),
          ].includes(name),
        },
      ]);
    }
  });

  it('make a hidden target look exactly like one that does not exist', async () => {
    const stranger = callers.get('stranger')!;
    const pairs = [
      ['workspaces/:workspace', 'workspaces/ws-absent'],
      ['projects/:project', 'projects/prj-absent'],
      ['organizations/acme', 'organizations/absent'],
      ['teams/:owners', 'teams/team-absent'],
    ] as const;
    for (const [real, absent] of pairs) {
      const [first, second] = [await stranger.get(at(real)), await stranger.get(absent)];
      expect([first.status, first.text]).toEqual([second.status, second.text]);
      expect(first.status).toBe(404);
    }
  });

  it('are named if they are missing and the caller may see the target', async () => {
    const { body } = await callers
      .get('workspace read')!
      .patch(at('workspaces/:workspace'), wrong('workspaces'))
      .expect(404);
    expect(body.errors).toEqual([
      {
        status: '404',
        title: 'not found',
        code: 'permission-missing',
        meta: { reason: 'this needs can-update' },
      },
    ]);
  });
});
