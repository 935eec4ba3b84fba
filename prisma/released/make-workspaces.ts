import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { archiveOf } from '../../apps/workspaces/test/worker-fixture';
import { codeFor, counterAt, fromBase32 } from '../../packages/auth/src/index';
import { type Answer, insist } from './ask';
import { kept } from './make-secrets';

/** The credentials for what was created in the workspace service. */
export interface WorkspacesCredentials {
  readonly admin: { readonly username: string; readonly password: string; readonly token: string };
  readonly person: { readonly username: string; readonly password: string; readonly twoFactorSecret: string };
  /** Of the organization, of a team, of an agent pool, and of a person with few rights. */
  readonly tokens: Readonly<Record<'organization' | 'team' | 'agent' | 'person', string>>;
  /** A waiting invitation. */
  readonly invitation: string;
  readonly workspaceId: string;
  /** A run whose plan waits for approval, and the secret it will write. */
  readonly planned: { readonly runId: string; readonly workspaceId: string; readonly secret: string };
}

type Make = (method: string, path: string, body?: object) => Promise<Answer['body']>;

const everyRight = [
  'manage-workspaces',
  'manage-projects',
  'manage-vcs-settings',
  'manage-agent-pools',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
];
const under = `organizations/${kept}`;

/** The body of a JSON:API request. */
export const document = (type: string, attributes: object = {}, relationships?: object) => ({
  data: { type, attributes, ...(relationships && { relationships }) },
});
const ref = (type: string, id: string) => ({ data: { type, id } });

/** Requests to the workspace service with one token. */
export function workspacesMaker(address: string, token?: string): Make {
  const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const headers = { 'Content-Type': 'application/vnd.api+json', ...authorization };
  return (method, path, body) => insist(address, { method, path: `/api/v2/${path}`, body, headers });
}

/** The current code of a person's authenticator. */
export const codeOf = (secret: string, periods = 0) =>
  codeFor(
    { key: fromBase32(secret), algorithm: 'SHA1', digits: 6, periodSeconds: 30 },
    counterAt(Date.now(), 30) + periods,
  );

/** Sends bytes to a link, which names the public address of the service. */
async function sendTo(address: string, link: string, bytes: Uint8Array): Promise<void> {
  const { pathname, search } = new URL(link);
  const headers = { 'Content-Type': 'application/octet-stream' };
  await insist(address, { method: 'PUT', path: `${pathname}${search}`, body: bytes, headers });
}

/** A small state. */
export const stateOf = (serial: number, lineage = kept): Buffer =>
  Buffer.from(
    JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial,
      lineage,
      outputs: { text: { value: 'kept', type: 'string' }, hidden: { value: 'kept', type: 'string', sensitive: true } },
      resources: [],
    }),
  );

/** Creates an object of every kind in a new workspace service with a worker, over HTTP, as its first administrator. */
export async function makeWorkspaces(
  address: string,
  admin: WorkspacesCredentials['admin'],
): Promise<WorkspacesCredentials> {
  const make = workspacesMaker(address, admin.token);
  const id = async (path: string, type: string, attributes: object, relationships?: object): Promise<string> =>
    (await make('POST', path, document(type, attributes, relationships))).data.id;
  await make('POST', 'organizations', document('organizations', { name: kept, email: 'kept@example.com' }));
  const consumer = { name: `${kept}-consumer`, email: 'consumer@example.com' };
  await make('POST', 'organizations', document('organizations', consumer));
  const settings = {
    'collaborator-auth-policy': 'password',
    'session-timeout': 20_160,
    'cost-estimation-enabled': true,
  };
  await make('PATCH', under, document('organizations', settings));
  const people = await makePeople(address, make);
  const project = await id(`${under}/projects`, 'projects', { name: kept, description: 'a project' });
  const pem = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const sshKey = await id(`${under}/ssh-keys`, 'ssh-keys', { name: kept, value: pem });
  const provider = {
    'service-provider': 'github',
    'http-url': 'https://kept.test',
    'api-url': 'https://api.kept.test',
  };
  const client = { name: kept, ...provider, 'oauth-token-string': kept, 'organization-scoped': false };
  await id(`${under}/oauth-clients`, 'oauth-clients', client, { projects: { data: [ref('projects', project).data] } });
  const consumers = { data: [{ type: 'organizations', id: consumer.name }] };
  await make('PATCH', `admin/${under}/relationships/module-consumers`, consumers);
  await make(
    'POST',
    'admin/sign-in-providers',
    document('sign-in-providers', {
      name: 'Example',
      issuer: 'https://id.example.com',
      'client-id': 'keystead',
      'client-secret': 'a secret of ours',
      'groups-claim': 'groups',
      organizations: [kept],
    }),
  );
  await make('PATCH', 'admin/saml-settings', document('saml-settings', { 'site-admin-role': kept }));
  await makeDirectory(address, make, people.team);
  const pool = await id(`${under}/agent-pools`, 'agent-pools', { name: kept, 'organization-scoped': false });
  const agent = await make(
    'POST',
    `agent-pools/${pool}/authentication-tokens`,
    document('authentication-tokens', { description: kept }),
  );
  const inProject = { project: ref('projects', project) };
  const workspace = await id(
    `${under}/workspaces`,
    'workspaces',
    {
      name: kept,
      description: 'a workspace',
      'auto-apply': true,
      'trigger-prefixes': ['a', 'b'],
      'working-directory': '',
      'execution-mode': 'remote',
      'terraform-version': '1.11.4',
      'assessments-enabled': false,
      'global-remote-state': false,
    },
    inProject,
  );
  const source = await id(`${under}/workspaces`, 'workspaces', { name: `${kept}-source` }, inProject);
  const local = await id(`${under}/workspaces`, 'workspaces', { name: `${kept}-local`, 'execution-mode': 'local' });
  await make('PATCH', `workspaces/${workspace}/relationships/ssh-key`, document('workspaces', { id: sshKey }));
  await make('POST', `workspaces/${workspace}/relationships/remote-state-consumers`, {
    data: [{ type: 'workspaces', id: source }],
  });
  await make('PATCH', `agent-pools/${pool}`, {
    data: {
      type: 'agent-pools',
      attributes: {},
      relationships: {
        'allowed-workspaces': { data: [{ type: 'workspaces', id: local }] },
        'allowed-projects': { data: [ref('projects', project).data] },
        'excluded-workspaces': { data: [{ type: 'workspaces', id: source }] },
      },
    },
  });
  await id(`${under}/reserved-tag-keys`, 'reserved-tag-keys', { key: `${kept}-reserved`, 'disable-overrides': true });
  await make('POST', `workspaces/${workspace}/relationships/tags`, {
    data: [{ type: 'tags', attributes: { name: kept } }],
  });
  const binding = { data: [{ type: 'tag-bindings', attributes: { key: kept, value: kept } }] };
  await make('PATCH', `workspaces/${workspace}/tag-bindings`, binding);
  const onWorkspace = { team: ref('teams', people.team), workspace: ref('workspaces', workspace) };
  await id('team-workspaces', 'team-workspaces', { access: 'write' }, onWorkspace);
  const onProject = { team: ref('teams', people.team), project: ref('projects', project) };
  await id('team-projects', 'team-projects', { access: 'maintain' }, onProject);
  await makeVariables(make, workspace, project);
  const never = { 'delete-older-than-n-days': 36_500 };
  for (const at of [under, `workspaces/${workspace}`]) {
    const type = 'data-retention-policy-delete-olders';
    await make('POST', `${at}/relationships/data-retention-policy`, document(type, never));
  }
  await make('PATCH', 'admin/data-retention-policy', document('data-retention-policy-delete-olders', never)).catch(
    () => {},
  );
  await id(`workspaces/${source}/run-triggers`, 'run-triggers', {}, { sourceable: ref('workspaces', workspace) });
  const notification = {
    name: 'kept',
    'destination-type': 'generic',
    url: 'https://hooks.example/runs',
    token: 'signs',
  };
  // Not in the first releases.
  for (const at of [`workspaces/${workspace}`, `projects/${project}`]) {
    const body = document('notification-configurations', { ...notification, triggers: ['run:errored'] });
    await make('POST', `${at}/notification-configurations`, body).catch(() => {});
  }
  await makeStates(address, make, local);
  const planned = await makeRuns(address, make, workspace, source);
  const tokenOf = async (at: string) =>
    (await make('POST', `${at}/authentication-token`, document('authentication-tokens'))).data.attributes.token;
  return {
    admin,
    person: people.person,
    tokens: {
      organization: await tokenOf(under),
      team: await tokenOf(`teams/${people.team}`),
      agent: agent.data.attributes.token,
      person: people.token,
    },
    invitation: people.invitation,
    workspaceId: workspace,
    planned,
  };
}

/** A team, a member with a second factor, and a waiting invitation. */
async function makePeople(address: string, make: Make) {
  const access = Object.fromEntries(everyRight.map((right) => [right, true]));
  const input = document('teams', { name: kept, 'organization-access': access, visibility: 'organization' });
  const team = (await make('POST', `${under}/teams`, input)).data.id;
  const invite = async (name: string, teams: object[]): Promise<string> => {
    const attributes = { email: `${name}@example.com` };
    const body = document('organization-memberships', attributes, { teams: { data: teams } });
    const { meta } = await make('POST', `${under}/organization-memberships`, body);
    return new URL(meta['invite-url']).pathname.replace('/app/', '').replace(/^\/?(api\/v2\/)?/, '');
  };
  const password = randomBytes(12).toString('base64url');
  const anonymous = workspacesMaker(address);
  const accepted = await invite('person', [{ type: 'teams', id: team }]);
  await anonymous('POST', accepted, document('one-time-links', { username: 'person', password }));
  const session = await anonymous('POST', 'session', document('sessions', { username: 'person', password }));
  const own = workspacesMaker(address, session.data.attributes.token);
  const me = (await own('GET', 'account/details')).data.id;
  const created = await own(
    'POST',
    `users/${me}/authentication-tokens`,
    document('authentication-tokens', { description: kept }),
  );
  const begun = await own('POST', 'account/two-factor', document('two-factor', { password }));
  const { secret } = begun.data.attributes;
  await own('POST', 'account/two-factor/actions/verify', document('two-factor', { code: codeOf(secret) }));
  return {
    team: team as string,
    person: { username: 'person', password, twoFactorSecret: secret as string },
    token: created.data.attributes.token as string,
    invitation: await invite('invited', []),
  };
}

/** A directory with a person, and a group that fills a team. */
async function makeDirectory(address: string, make: Make, team: string): Promise<void> {
  await make('PATCH', 'admin/scim-settings', document('scim-settings', { enabled: true }));
  const token = await make('POST', 'admin/scim-tokens', document('authentication-tokens', { description: kept }));
  const headers = {
    Authorization: `Bearer ${token.data.attributes.token}`,
    'Content-Type': 'application/scim+json',
  };
  const add = async (kind: 'Users' | 'Groups', body: object): Promise<string> =>
    (await insist(address, { method: 'POST', path: `/scim/v2/${kind}`, body, headers })).id;
  const user = await add('Users', { userName: `${kept}-directory`, externalId: kept, title: kept });
  const group = await add('Groups', { displayName: kept, members: [{ value: user }] });
  const link = document('scim-group-mappings', { 'scim-group-id': group });
  await make('POST', `admin/teams/${team}/scim-group-mapping`, link);
}

/** Variables of both kinds, plain and sensitive, in a workspace and in sets. */
async function makeVariables(make: Make, workspace: string, project: string): Promise<void> {
  const add = (path: string, attributes: object) => make('POST', path, document('vars', attributes));
  for (const path of [`workspaces/${workspace}/vars`]) {
    await add(path, { key: kept, value: 'plain', category: 'terraform', description: 'a variable' });
    await add(path, { key: 'list', value: '[1]', category: 'terraform', hcl: true });
    await add(path, { key: 'HIDDEN', value: 'hidden', category: 'env', sensitive: true });
  }
  const set = document('varsets', { name: kept, description: 'a set', global: false });
  const { id } = (await make('POST', `${under}/varsets`, set)).data;
  await add(`varsets/${id}/relationships/vars`, { key: kept, value: 'of the set', category: 'terraform' });
  await make('POST', `varsets/${id}/relationships/workspaces`, { data: [{ type: 'workspaces', id: workspace }] });
  await make('POST', `varsets/${id}/relationships/projects`, { data: [{ type: 'projects', id: project }] });
}

/** Two states, one that was refused and quarantined, and a held lock. */
async function makeStates(address: string, make: Make, workspace: string): Promise<void> {
  await make('POST', `workspaces/${workspace}/actions/lock`, { reason: kept });
  const announce = (bytes: Buffer, serial: number, lineage: string, inline: boolean) => {
    const md5 = createHash('md5').update(bytes).digest('hex');
    const state = inline ? { state: bytes.toString('base64') } : {};
    const body = document('state-versions', { serial, md5, lineage, ...state });
    return make('POST', `workspaces/${workspace}/state-versions`, body);
  };
  await announce(stateOf(1), 1, kept, true);
  const { data } = await announce(stateOf(2), 2, kept, false);
  await sendTo(address, data.attributes['hosted-state-upload-url'], stateOf(2));
  await announce(stateOf(1, 'another'), 1, 'another', true).catch(() => {});
}

/** A run that was applied, with its comment; one that was discarded; and one whose plan waits. */
async function makeRuns(address: string, make: Make, workspace: string, other: string) {
  const secret = randomBytes(12).toString('hex');
  const variable = { key: 'KEPT_SECRET', value: secret, category: 'env', sensitive: true };
  for (const at of [workspace, other]) await make('POST', `workspaces/${at}/vars`, document('vars', variable));
  const statusOf = async (run: string) => (await make('GET', `runs/${run}`)).data.attributes.status as string;
  const start = async (at: string, message: string, ends: string, attributes: object): Promise<string> => {
    const body = document('configuration-versions', { 'auto-queue-runs': false });
    const { data } = await make('POST', `workspaces/${at}/configuration-versions`, body);
    const files = { 'main.tf': 'output "x" { value = 1 }', 'README.md': '# Kept' };
    await sendTo(address, data.attributes['upload-url'], await archiveOf(files));
    const of = { workspace: ref('workspaces', at), 'configuration-version': ref('configuration-versions', data.id) };
    const run = (await make('POST', 'runs', document('runs', { message, ...attributes }, of))).data.id;
    await reaches(() => statusOf(run), ends);
    return run;
  };
  const applied = await start(workspace, 'applied', 'applied', {
    'auto-apply': true,
    variables: [{ key: 'n', value: '1' }],
  });
  await make('POST', `runs/${applied}/comments`, document('comments', { body: kept }));
  const runsOf = async (at: string) => (await make('GET', `workspaces/${at}/runs`)).data as { id: string }[];
  // The trigger starts a run in the other workspace only if that has a configuration.
  const discarded = await start(other, 'discarded', 'planned', { 'auto-apply': false });
  await make('POST', `runs/${discarded}/actions/discard`, { comment: kept });
  const planned = await start(workspace, 'planned', 'planned', { 'auto-apply': false });
  if ((await runsOf(workspace)).length < 2) throw new Error('runs are missing');
  return { runId: planned, workspaceId: workspace, secret };
}

/** Waits until a run has the expected status. */
export async function reaches(status: () => Promise<string>, wanted: string): Promise<void> {
  const until = Date.now() + 120_000;
  for (let now = await status(); now !== wanted; now = await status()) {
    const ended = ['errored', 'canceled', 'discarded'].includes(now);
    if (ended || Date.now() > until) throw new Error(`a run is ${now} instead of ${wanted}`);
    await sleep(100);
  }
}
