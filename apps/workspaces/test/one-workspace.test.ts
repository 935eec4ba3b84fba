import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { rowsButRefusals } from './database-rows';
import { fakeWorker } from './fake-worker';
import { idSlots } from './id-slots';
import { type Client, ref, resource, startWorkspaces } from './start-workspaces';
import { absentLike, type Tenant, tenant } from './tenant';

jest.setTimeout(300_000);

const wordOf = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;

describe('an administrator of one workspace', () => {
  const workspaces = startWorkspaces();
  let all: Tenant;
  let member: Client;
  let ownId = '';
  /** Objects of the other workspaces of the organization. */
  let hidden: Record<string, string> = {};

  beforeAll(async () => {
    all = await tenant(workspaces, fakeWorker(workspaces), 'zebra');
    const { owner, plain, params, ids } = all;
    const make = async (path: string, body: object) => (await owner.post(path, body).expect(201)).body.data;
    const team = await make('organizations/zebra/teams', resource('teams', { name: 'limited' }));
    const own = await make('organizations/zebra/workspaces', resource('workspaces', { name: 'own' }));
    ownId = own.id;
    const grant = { team: ref('teams', team.id), workspace: ref('workspaces', ownId) };
    await make('team-workspaces', resource('team-workspaces', { access: 'admin' }, grant));
    await owner.post(`teams/${team.id}/relationships/users`, { data: [{ type: 'users', id: plain.id }] }).expect(204);
    member = plain;
    const web = params[':workspace_id']!;
    // This workspace has every kind of connection with the others.
    const both = [ownId, web].map((id) => ref('workspaces', id).data);
    await owner.post(`varsets/${ids.varsets}/relationships/workspaces`, { data: both }).expect(204);
    const project = { data: [ref('projects', ids.projects!).data] };
    await owner.post(`varsets/${ids.varsets}/relationships/projects`, project).expect(204);
    const allowed = { 'allowed-workspaces': { data: both } };
    const narrow = resource('agent-pools', { 'organization-scoped': false }, allowed);
    await owner.patch(`agent-pools/${ids['agent-pools']}`, narrow).expect(200);
    const agent = resource('workspaces', { 'execution-mode': 'agent', 'agent-pool-id': ids['agent-pools'] });
    await owner.patch(`workspaces/${web}`, agent).expect(200);
    const consumer = { data: [ref('workspaces', ownId).data] };
    await owner.post(`workspaces/${web}/relationships/remote-state-consumers`, consumer).expect(204);
    const source = resource('run-triggers', {}, { sourceable: ref('workspaces', web) });
    await make(`workspaces/${ownId}/run-triggers`, source);
    const tag = { data: [{ type: 'tags', id: ids.tags }] };
    await owner.post(`workspaces/${ownId}/relationships/tags`, tag).expect(204);

    const of = [
      'workspace',
      'project',
      'variable',
      'run',
      'state_version',
      'output',
      'quarantined',
      'run_trigger',
      'notification_configuration',
      'plan_export',
      'run_event',
      'comment',
    ];
    hidden = {
      ...Object.fromEntries(of.map((name) => [name, params[`:${name}_id`]!])),
      configuration: ids['configuration-versions']!,
      plan: params['plans/:id']!,
      apply: params['applies/:id']!,
      source: ids.workspaces!,
      'name of a workspace': 'zebra-web',
      'name of another': 'zebra-source',
      'name of a project': 'zebra-project',
      'message of a run': 'zebra-message',
      'text of a comment': 'zebra-comment',
    };
  });

  const own = ({ path }: Endpoint) =>
    path.replace(/:\w+/g, (part) => {
      if (part === ':workspace_id') return ownId;
      if (part === ':name') return 'own';
      return all.params[`${path.split('/')[1]}/${part}`] ?? all.params[part] ?? 'x';
    });
  const operations = resources
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ siteAdmin, edition, auth }) => !siteAdmin && edition !== 'hosted' && auth === 'token');

  it('learns nothing about the other workspaces by any request or include', async () => {
    const wrong: string[] = [];
    let answered = 0;
    for (const endpoint of operations.filter(({ method }) => method === 'GET')) {
      const { include, query } = endpoint;
      const inbound = 'filter[run-trigger][type]' in query ? '?filter[run-trigger][type]=inbound' : '';
      for (const search of [
        inbound,
        ...(include.length > 0 ? [`${inbound || '?'}&include=${include.join(',')}`] : []),
      ]) {
        const path = `${own(endpoint)}${search}`;
        const { status, text } = await member.get(path);
        if (status === 200) answered++;
        for (const [name, value] of Object.entries(hidden)) {
          if (text.includes(value) && !path.includes(value)) wrong.push(`${endpoint.path}${search} tells the ${name}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(answered).toBeGreaterThan(50);
  });

  it('cannot use objects of other workspaces: invisible objects are treated as absent', async () => {
    const kinds: Readonly<Record<string, string | undefined>> = {
      workspaces: hidden.source,
      projects: hidden.project,
      runs: hidden.run,
      'state-versions': hidden.state_version,
      'configuration-versions': hidden.configuration,
      vars: hidden.variable,
    };
    const mentioned = async () =>
      Object.values(await rowsButRefusals(workspaces.databaseUrl))
        .flat()
        .filter((text) => Object.values(hidden).some((value) => text.includes(value)));
    await member.post(`workspaces/${ownId}/actions/lock`, {}).expect(200);
    const before = await mentioned();
    const mine = { ids: { ...all.ids, workspaces: ownId }, params: { ...all.params, ':workspace_id': ownId } };
    const wrong: string[] = [];
    let asked = 0;
    for (const endpoint of operations) {
      for (const slot of idSlots(endpoint, mine)) {
        const id = kinds[slot.type];
        if (id === undefined) continue;
        asked++;
        const send = async (given: string) => {
          const { status, text } = await member[wordOf[endpoint.method]](own(endpoint), slot.body(given));
          return `${status} ${text.replaceAll(given, '<id>')}`;
        };
        const [unseen, absent] = [await send(id), await send(absentLike(id))];
        if (unseen !== absent)
          wrong.push(`${endpoint.method} ${endpoint.path} ${slot.name}: ${unseen} unlike ${absent}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(25);
    expect(await mentioned()).toEqual(before);
  });
});
