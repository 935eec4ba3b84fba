import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { resource, startWorkspaces } from '../../workspaces/test/start-workspaces';
import { away, broken, type ForeignData, type ForeignServer, limited, startForeignServer } from './foreign-server';
import { keystead } from './run-keystead';

const state = (serial: number, lineage?: string) =>
  JSON.stringify({ version: 4, serial, ...(lineage ? { lineage } : {}), outputs: {}, resources: [], at: serial });
const versions = (prefix: string, serials: number[], lineage?: string) =>
  serials.map((serial, index) => ({ id: `sv-${prefix}${index}`, serial, content: state(serial, lineage) }));
const tags = Array.from({ length: 27 }, (_, index) => `tag-${String(index).padStart(2, '0')}`);

const data: ForeignData = {
  organization: {
    name: 'foreign',
    email: '',
    'collaborator-auth-policy': '',
    'default-execution-mode': 'local',
    'session-timeout': null,
    'owners-team-saml-role-id': '-',
  },
  teams: [
    { name: 'owners', visibility: 'secret', 'organization-access': { 'manage-workspaces': false } },
    { name: 'deployers', visibility: 'organization', 'organization-access': { 'manage-workspaces': true } },
    { name: 'team.dot', visibility: 'secret' },
  ],
  sets: [
    { id: 'varset-all', attributes: { name: 'all', global: true }, workspaces: [], variables: [] },
    {
      id: 'varset-some',
      attributes: { name: 'some', global: false, description: '' },
      workspaces: ['ws-net'],
      variables: [
        { key: 'owner', value: 'platform', category: 'terraform' },
        { key: 'SECRET', value: '', category: 'env', sensitive: true },
      ],
    },
  ],
  workspaces: [
    {
      id: 'ws-net',
      attributes: {
        name: 'network',
        description: '',
        'execution-mode': 'remote',
        'setting-overwrites': { 'execution-mode': false, 'agent-pool': false },
        'terraform-version': '1.11.99',
        'trigger-prefixes': null,
        'trigger-patterns': [17],
        locked: true,
      },
      tags: [...tags, 'a.b'],
      variables: [
        { key: 'region', value: 'west', category: 'terraform', hcl: false },
        { key: 'TOKEN', value: '', category: 'env', sensitive: true },
        { key: 'a b', value: '1', category: 'env' },
      ],
      // The state was rolled back from the third to the first.
      states: [...versions('net', [1, 2, 3], 'one'), { id: 'sv-net-back', serial: 1, content: state(1, 'one') }],
      current: 'sv-net-back',
    },
    {
      id: 'ws-old',
      attributes: { name: 'old', 'execution-mode': 'local', 'terraform-version': '1.99.3' },
      states: [...versions('old', [3]), { ...versions('lost', [5])[0]!, gone: true }, ...versions('new', [8])],
      current: 'sv-new0',
    },
    { id: 'ws-dot', attributes: { name: 'a.b' } },
  ],
};

describe('an import from a server with fewer features', () => {
  const workspaces = startWorkspaces();
  let foreign: ForeignServer;

  beforeAll(async () => {
    foreign = await startForeignServer(data);
  });
  afterAll(() => foreign.close());

  const here = () => `http://127.0.0.1:${(workspaces.server.address() as AddressInfo).port}`;
  const run = async (...more: string[]) => {
    foreign.asked.length = 0;
    const args = ['workspaces', 'import', '--from', foreign.address, '--to', here(), '--organization', 'foreign'];
    const ran = await keystead([...args, '--history', '--format', 'json', ...more], {
      IMPORT_TOKEN: foreign.token,
      WORKSPACES_TOKEN: workspaces.admin.token ?? '',
    });
    return { ...ran, report: ran.printed === '' ? undefined : JSON.parse(ran.printed) };
  };
  const shown = async (path: string) => (await workspaces.admin.get(path).expect(200)).body.data;

  it('plans its work in spite of limits, faults and broken connections, and requests missing features only once', async () => {
    foreign.moods.push(limited, away, broken);
    const { code, report } = await run('--plan');
    expect([code, report.failed, report.created]).toEqual([
      0,
      [],
      {
        organization: 1,
        team: 2,
        workspace: 3,
        variable: 5,
        tag: 28,
        'state version': 7,
        'variable set': 2,
      },
    ]);
    expect(report.missing).toEqual(
      expect.arrayContaining(['projects', 'key-value tags', 'team access to workspaces', 'notifications']),
    );
    for (const part of ['tag-bindings', 'team-workspaces', 'notification-configurations']) {
      expect(foreign.asked.filter((path) => path.includes(part))).toHaveLength(1);
    }
    await workspaces.admin.get('organizations/foreign').expect(404);
  });

  it('copies everything that this service supports, and names the rest', async () => {
    const { code, report, said } = await run();
    // Part of the import was refused, so the exit code is not 0.
    expect(code).toBe(2);
    expect(report.created).toEqual({
      organization: 1,
      team: 1,
      workspace: 2,
      variable: 4,
      tag: 27,
      'state version': 6,
      'variable set': 2,
    });
    expect(report.failed.join('\n')).toMatch(/team team\.dot.*\n.*variable a b.*\n.*foreign\/a\.b: /);
    expect(report.left).toEqual([
      "foreign: the source does not show the organization's e-mail address, so yours was used",
      'foreign/network: trigger-patterns 0 could not be copied: 0 must be a string',
      expect.stringMatching(
        /^foreign\/network: infra-version could not be copied: .*1\.11\.99.*; ~> 1\.11\.0 is tried instead$/,
      ),
      expect.stringMatching(/^foreign\/network: the tag a\.b could not be copied: Tags must/),
      'foreign/network: the value of the sensitive variable TOKEN must be set here',
      'foreign/network: is locked there, so its state may still change: import it again after it is unlocked',
      expect.stringMatching(/^foreign\/old: infra-version .*1\.99\.3.*; ~> 1\.99\.0 is tried instead$/),
      expect.stringMatching(/^foreign\/old: infra-version could not be copied: .*matches no available version$/),
      'foreign/old: the source no longer has the content of the state with serial 5',
      'foreign, variable set some: the value of the sensitive variable SECRET must be set here',
    ]);
    expect(said).toContain('absent, or hidden from this token: projects');
  });

  it('copies settings, tags, variables and sets', async () => {
    const { id, attributes } = await shown('organizations/foreign/workspaces/network?include=project');
    expect(attributes).toMatchObject({ 'execution-mode': 'remote', 'infra-version': '~> 1.11.0', locked: false });
    expect([...attributes['tag-names']].sort()).toEqual(tags);
    expect((await shown('organizations/foreign')).attributes['default-execution-mode']).toBe('local');
    const sets = await shown(`workspaces/${id}/varsets`);
    expect(sets.map((set: { attributes: { name: string } }) => set.attributes.name).sort()).toEqual(['all', 'some']);
  });

  it('copies every state byte for byte, and ends with the state that is current on the other server', async () => {
    for (const [name, serials, current] of [
      ['network', [1, 2, 3, 1], state(1, 'one')],
      ['old', [3, 8], state(8)],
    ] as const) {
      const filter = `filter%5Borganization%5D%5Bname%5D=foreign&filter%5Bworkspace%5D%5Bname%5D=${name}`;
      const listed = (await shown(`state-versions?${filter}`)).reverse();
      expect(listed.map((one: { attributes: { serial: number } }) => one.attributes.serial)).toEqual(serials);
      const { id } = await shown(`organizations/foreign/workspaces/${name}`);
      const { attributes } = await shown(`workspaces/${id}/current-state-version`);
      const { pathname, search } = new URL(attributes['hosted-state-download-url']);
      expect(await (await fetch(`${here()}${pathname}${search}`)).text()).toBe(current);
    }
  });

  it('can be repeated without doing anything twice, and still lists the manual steps', async () => {
    const { code, report } = await run();
    expect([code, report.created]).toEqual([2, {}]);
    expect(report.present).toMatchObject({ workspace: 2, variable: 4, tag: 27, 'state version': 6 });
    expect(report.left.join('\n')).toContain('sensitive variable TOKEN');
  });

  it('continues where it was killed: under its own lock, and with a state that it had only announced', async () => {
    const { admin } = workspaces;
    const { id } = await shown('organizations/foreign/workspaces/old');
    await admin.post(`workspaces/${id}/actions/lock`, { reason: 'keystead import' }).expect(200);
    const next = state(9);
    const md5 = createHash('md5').update(next).digest('hex');
    await admin.post(`workspaces/${id}/state-versions`, resource('state-versions', { serial: 9, md5 })).expect(201);
    const old = data.workspaces[1]!;
    old.states!.push({ id: 'sv-newest', serial: 9, content: next });
    old.current = 'sv-newest';
    // This state is stored at another address, which must not get the token.
    foreign.storesElsewhere = true;
    expect((await run()).report.created).toEqual({ 'state version': 1 });
    const current = await shown(`workspaces/${id}/current-state-version`);
    expect(current.attributes).toMatchObject({ serial: 9, status: 'finalized' });
    expect((await shown(`workspaces/${id}`)).attributes.locked).toBe(false);
  });

  it('skips a workspace that another user has locked, and continues with the rest', async () => {
    const { admin } = workspaces;
    const { id } = await shown('organizations/foreign/workspaces/old');
    await admin.post(`workspaces/${id}/actions/lock`, { reason: 'maintenance' }).expect(200);
    const [network, old] = data.workspaces;
    old!.states!.push({ id: 'sv-later', serial: 10, content: state(10) });
    old!.current = 'sv-later';
    network!.states!.push({ id: 'sv-ahead', serial: 4, content: state(4, 'one') });
    network!.current = 'sv-ahead';
    const { code, report } = await run();
    expect([code, report.created]).toEqual([2, { 'state version': 1 }]);
    expect(report.failed.join('\n')).toContain('foreign/old: ');
    expect((await shown(`workspaces/${id}`)).attributes.locked).toBe(true);
  });
});
