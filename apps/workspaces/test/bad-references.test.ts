import { beforeAll, describe, expect, it } from '@jest/globals';
import { ref, resource, startWorkspaces } from './start-workspaces';

const list = (type: string, id: string) => ({ data: [{ type, id }] });

describe('references', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  /** Ids in the organization of the requests, and in another one that the caller also owns. */
  const own: Record<string, string> = {};
  const foreign: Record<string, string> = {};

  async function fill(organization: string, ids: Record<string, string>): Promise<void> {
    const { body } = await admin
      .post('organizations', resource('organizations', { name: organization, email: 'a@b.co' }))
      .expect(201);
    ids.organization = body.data.id;
    const at = `organizations/${organization}`;
    const make = async (path: string, type: string, attributes: object) =>
      (await admin.post(path, resource(type, attributes)).expect(201)).body.data.id as string;
    ids.project = await make(`${at}/projects`, 'projects', { name: 'second' });
    ids.pool = await make(`${at}/agent-pools`, 'agent-pools', { name: 'pool' });
    ids.team = await make(`${at}/teams`, 'teams', { name: 'team' });
    ids.set = await make(`${at}/varsets`, 'varsets', { name: 'set' });
    ids.workspace = await make(`${at}/workspaces`, 'workspaces', { name: 'app', 'global-remote-state': false });
    ids.other = await make(`${at}/workspaces`, 'workspaces', { name: 'other' });
    await admin
      .post(`workspaces/${ids.workspace}/relationships/tags`, {
        data: [{ type: 'tags', attributes: { name: organization } }],
      })
      .expect(204);
    const tags = await admin.get(`${at}/tags`).expect(200);
    ids.tag = tags.body.data[0].id;
  }
  beforeAll(async () => {
    await fill('acme', own);
    await fill('rival', foreign);
  });

  type Send = (id: string) => ReturnType<typeof admin.post>;
  const relationships: [what: string, kind: string, unknown: string, send: Send][] = [
    [
      'the project of a new workspace',
      'project',
      'prj-1234567812345678',
      (id) =>
        admin.post(
          'organizations/acme/workspaces',
          resource('workspaces', { name: 'bad' }, { project: ref('projects', id) }),
        ),
    ],
    [
      'the project of a workspace',
      'project',
      'prj-1234567812345678',
      (id) => admin.patch(`workspaces/${own.workspace}`, resource('workspaces', {}, { project: ref('projects', id) })),
    ],
    [
      'the pool of a new workspace',
      'pool',
      'apool-1234567812345678',
      (id) =>
        admin.post(
          'organizations/acme/workspaces',
          resource('workspaces', { name: 'bad', 'execution-mode': 'agent', 'agent-pool-id': id }),
        ),
    ],
    [
      'the pool of a workspace',
      'pool',
      'apool-1234567812345678',
      (id) =>
        admin.patch(
          `workspaces/${own.workspace}`,
          resource('workspaces', { 'execution-mode': 'agent', 'agent-pool-id': id }),
        ),
    ],
    [
      'the default pool of an organization',
      'pool',
      'apool-1234567812345678',
      (id) =>
        admin.patch(
          'organizations/acme',
          resource(
            'organizations',
            { 'default-execution-mode': 'agent' },
            { 'default-agent-pool': ref('agent-pools', id) },
          ),
        ),
    ],
    [
      'the SSH key of a workspace',
      'workspace',
      'sshkey-1234567812345678',
      (id) => admin.patch(`workspaces/${own.workspace}/relationships/ssh-key`, resource('workspaces', { id })),
    ],
    [
      'the tags of a workspace',
      'tag',
      'tag-1234567812345678',
      (id) => admin.post(`workspaces/${own.workspace}/relationships/tags`, list('tags', id)),
    ],
    ...(['post', 'patch', 'delete'] as const).map((verb): [string, string, string, Send] => [
      `the remote state consumers of a workspace, by ${verb}`,
      'workspace',
      'ws-1234567812345678',
      (id) => admin[verb](`workspaces/${own.workspace}/relationships/remote-state-consumers`, list('workspaces', id)),
    ]),
    [
      'the workspaces of a variable set',
      'workspace',
      'ws-1234567812345678',
      (id) => admin.post(`varsets/${own.set}/relationships/workspaces`, list('workspaces', id)),
    ],
    [
      'the projects of a variable set',
      'project',
      'prj-1234567812345678',
      (id) => admin.post(`varsets/${own.set}/relationships/projects`, list('projects', id)),
    ],
    [
      'the workspaces with a tag',
      'workspace',
      'ws-1234567812345678',
      (id) => admin.post(`tags/${own.tag}/relationships/workspaces`, list('workspaces', id)),
    ],
    [
      'the workspace that a team has access to',
      'workspace',
      'ws-1234567812345678',
      (id) =>
        admin.post(
          'team-workspaces',
          resource(
            'team-workspaces',
            { access: 'read' },
            { team: ref('teams', own.team!), workspace: ref('workspaces', id) },
          ),
        ),
    ],
    [
      'the project that a team has access to',
      'project',
      'prj-1234567812345678',
      (id) =>
        admin.post(
          'team-projects',
          resource(
            'team-projects',
            { access: 'read' },
            { team: ref('teams', own.team!), project: ref('projects', id) },
          ),
        ),
    ],
    [
      'the team with access to a workspace',
      'team',
      'team-1234567812345678',
      (id) =>
        admin.post(
          'team-workspaces',
          resource(
            'team-workspaces',
            { access: 'read' },
            { team: ref('teams', id), workspace: ref('workspaces', own.workspace!) },
          ),
        ),
    ],
  ];

  it.each(relationships)('%s are refused if unknown, foreign, or not an id', async (_what, kind, unknown, send) => {
    const before = await admin.get(`workspaces/${own.workspace}`).expect(200);
    const answers = [];
    for (const id of [unknown, foreign[kind]!, "x'; --", 'ws-'.repeat(2000)]) {
      const answer = await send(id);
      expect([404, 422]).toContain(answer.status);
      answers.push(answer.body);
    }
    // An object of another organization gets the same answer as one that does not exist.
    expect(answers[1]).toEqual(answers[0]);
    const after = await admin.get(`workspaces/${own.workspace}`).expect(200);
    expect(after.body).toEqual(before.body);
    await admin.get('organizations/acme/workspaces/bad').expect(404);
  });
});
