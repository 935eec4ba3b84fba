import { createHash, generateKeyPairSync } from 'node:crypto';
import { randomId } from '@keystead/auth';
import type { RunJob } from '../src/resources/runs/runs/jobs/job';
import { archiveOf, configured, putUrl, startRun } from './configurations';
import type { fakeWorker } from './fake-worker';
import { stateWithOutput } from './run-fixture';
import { addKey, publishProvider, signingKey } from './signed-provider';
import { type Client, ref, resource, type Spoken } from './start-workspaces';

/** An organization with one object of every kind. None of its names appears anywhere else. */
export interface Tenant {
  readonly name: string;
  readonly owner: Client & { id: string; username: string };
  /** A member without any right. */
  readonly plain: Client & { id: string; username: string };
  /** Tokens of the organization, of a team with every right, and of an agent pool. */
  readonly tokens: Readonly<Record<'organization' | 'team' | 'agent', Client>>;
  /** Path parameters, by their name and the segment before: `workspaces/:workspace_id`. */
  readonly params: Readonly<Record<string, string>>;
  /** An id of every type. */
  readonly ids: Readonly<Record<string, string>>;
}

const everyRight = [
  'manage-workspaces',
  'manage-projects',
  'manage-vcs-settings',
  'manage-agent-pools',
  'manage-modules',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
];

/** The worker of a tenant's run, or of the given one. */
export interface TenantWorker {
  claim(): Promise<unknown>;
  plan(result: Parameters<ReturnType<typeof fakeWorker>['plan']>[0], runId: string): Promise<RunJob>;
  apply(result: Parameters<ReturnType<typeof fakeWorker>['apply']>[0], runId: string): Promise<RunJob>;
}

/** Creates a tenant through the API, as its owner: by default a new person. */
export async function tenant(
  workspaces: Spoken,
  worker: TenantWorker,
  name: string,
  as?: Tenant['owner'],
): Promise<Tenant> {
  const owner = as ?? (await workspaces.person(`${name}-owner`));
  const organization = await workspaces.organization(name, {}, owner);
  const under = `organizations/${name}`;
  const make = async (path: string, body: object) => (await owner.post(path, body).expect(201)).body.data;
  const makeIn = (path: string, type: string, attributes: object, relationships?: object) =>
    make(`${under}/${path}`, resource(type, attributes, relationships));

  const access = Object.fromEntries(everyRight.map((right) => [right, true]));
  const team = await makeIn('teams', 'teams', { name: `${name}-team`, 'organization-access': access });
  const teamToken = await make(`teams/${team.id}/authentication-token`, resource('authentication-tokens'));
  const organizationToken = await make(`${under}/authentication-token`, resource('authentication-tokens'));
  const join = async (username: string, teams: object[]) => {
    const person = await workspaces.person(username);
    const attributes = { email: `${username}@example.com` };
    const body = resource('organization-memberships', attributes, { teams: { data: teams } });
    const { body: invited } = await owner.post(`${under}/organization-memberships`, body).expect(201);
    await person.post(new URL(invited.meta['invite-url']).pathname.replace('/app/', '/api/v2/')).expect(200);
    return { ...person, membershipId: invited.data.id };
  };
  const member = await join(`${name}-member`, [ref('teams', team.id).data]);
  const plain = await join(`${name}-plain`, []);

  const project = await makeIn('projects', 'projects', { name: `${name}-project` });
  const value = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const sshKey = await makeIn('ssh-keys', 'ssh-keys', { name: `${name}-key`, value });
  const oauthClient = await makeIn('oauth-clients', 'oauth-clients', {
    name: `${name}-code`,
    'service-provider': 'github',
    'http-url': `https://${name}.test`,
    'api-url': `https://api.${name}.test`,
    'oauth-token-string': `${name}-oauth`,
  });
  const pool = await makeIn('agent-pools', 'agent-pools', { name: `${name}-pool` });
  const agentToken = await make(
    `agent-pools/${pool.id}/authentication-tokens`,
    resource('authentication-tokens', { description: `${name}-agent` }),
  );

  const addresses = await makeIn('cidr-range-lists', 'cidr-range-lists', { name: `${name}-addresses` });
  const range = await make(
    `cidr-range-lists/${addresses.id}/relationships/cidr-ranges`,
    resource('cidr-ranges', { range: '192.0.2.0/24', enabled: false }),
  );

  const inProject = { project: ref('projects', project.id) };
  const workspace = await makeIn('workspaces', 'workspaces', { name: `${name}-web` }, inProject);
  const source = await makeIn('workspaces', 'workspaces', { name: `${name}-source` }, inProject);
  const at = `workspaces/${workspace.id}`;
  await owner
    .post(`${at}/relationships/tags`, { data: [{ type: 'tags', attributes: { name: `${name}-tag` } }] })
    .expect(204);
  const tag = (await owner.get(`${under}/tags`).expect(200)).body.data[0];
  const binding = { type: 'tag-bindings', attributes: { key: `${name}-key`, value: `${name}-value` } };
  await owner.patch(`${at}/tag-bindings`, { data: [binding] }).expect(200);
  const reserved = await makeIn('reserved-tag-keys', 'reserved-tag-keys', { key: `${name}-reserved` });
  const grant = { team: ref('teams', team.id), workspace: ref('workspaces', workspace.id) };
  const teamWorkspace = await make('team-workspaces', resource('team-workspaces', { access: 'admin' }, grant));
  const grantOfProject = { team: ref('teams', team.id), project: ref('projects', project.id) };
  const teamProject = await make('team-projects', resource('team-projects', { access: 'admin' }, grantOfProject));

  const given = { key: `${name}-variable`, value: `${name}-value`, category: 'env' };
  const variable = await make(`${at}/vars`, resource('vars', given));
  const set = await makeIn('varsets', 'varsets', { name: `${name}-set` });
  const setVariable = await make(`varsets/${set.id}/relationships/vars`, resource('vars', given));

  await configured(workspaces, workspace.id, {}, owner);
  await worker.claim();
  const run = (await startRun(owner, workspace.id, { message: `${name}-message` }).expect(201)).body.data;
  const plan = { jsonPlan: Buffer.from(`{"of":"${name}"}`), redactedJsonPlan: Buffer.from(`{"of":"${name}"}`) };
  const { planId } = await worker.plan(plan, run.id);
  const form = { 'data-type': 'sentinel-mock-bundle-v0' };
  const planExport = await make('plan-exports', resource('plan-exports', form, { plan: ref('plans', planId) }));
  await owner.post(`runs/${run.id}/actions/apply`, {}).expect(202);
  const { applyId } = await worker.apply({ outcome: 'errored', erroredState: stateWithOutput(9, name) }, run.id);
  const comment = await make(`runs/${run.id}/comments`, resource('comments', { body: `${name}-comment` }));
  const event = (await owner.get(`runs/${run.id}/run-events`).expect(200)).body.data[0];
  const trigger = await make(
    `workspaces/${source.id}/run-triggers`,
    resource('run-triggers', {}, { sourceable: ref('workspaces', workspace.id) }),
  );
  const notification = await make(
    `${at}/notification-configurations`,
    resource('notification-configurations', {
      name: `${name}-notification`,
      'destination-type': 'generic',
      url: `https://${name}.example/hook`,
      triggers: ['run:errored'],
    }),
  );
  const asked = {
    action_type: 'change_requests',
    action_inputs: { subject: `${name}-subject`, message: `${name}-wish` },
  };
  await owner
    .post(`${under}/explorer/bulk-actions`, { data: { attributes: { ...asked, target_ids: [workspace.id] } } })
    .expect(201);
  const changeRequest = (await owner.get(`${at}/change-requests`).expect(200)).body.data[0];
  const configuration = (await owner.get(`${at}/configuration-versions`).expect(200)).body.data[0];

  await owner.post(`${at}/actions/lock`, { reason: `${name}-reason` }).expect(200);
  const state = (serial: number) => {
    const bytes = stateWithOutput(serial, name);
    const md5 = createHash('md5').update(bytes).digest('hex');
    return resource('state-versions', { serial, md5, state: bytes.toString('base64') });
  };
  const version = await make(`${at}/state-versions`, state(5));
  await owner.post(`${at}/state-versions`, state(3)).expect(409);
  const kept = (await owner.get(`${at}/quarantined-states`).expect(200)).body.data[0];
  const output = (await owner.get(`state-versions/${version.id}/outputs`).expect(200)).body.data[0];
  await owner.post(`${at}/actions/unlock`, {}).expect(200);

  // Made by a site administrator, only for this organization.
  const provider = resource('sign-in-providers', {
    name: `${name}-provider`,
    issuer: `https://id.${name}.test`,
    'client-id': `${name}-client`,
    'client-secret': `${name}-client-secret`,
    organizations: [name],
  });
  const signInProvider = (await workspaces.admin.post('admin/sign-in-providers', provider).expect(201)).body.data;

  const registration = {
    name: `${name}-agent`,
    version: '0.2.0',
    protocol: { oldest: 1, newest: 1 },
    'tool-versions': ['1.11.4'],
    isolation: 'own-user',
  };
  const agent = (
    await workspaces.as(agentToken.attributes.token).post('/api/agent/v1/agents', registration).expect(201)
  ).body;

  const module = `${name}-module`;
  // Providers have no dashes in their names.
  const crane = `${name.replaceAll('-', '')}crane`;
  await makeIn('registry-modules', 'registry-modules', {
    name: module,
    provider: crane,
    'test-config': { 'tests-enabled': true },
  });
  const moduleVersion = await make(
    `registry-modules/${name}/${module}/${crane}/versions`,
    resource('registry-module-versions', { version: `1.0.0-${name}` }),
  );
  await putUrl(workspaces, moduleVersion.links.upload, await archiveOf()).expect(200);
  const ofModule = { 'registry-module': moduleVersion.relationships['registry-module'] };
  const noCode = await makeIn('no-code-modules', 'no-code-modules', {}, ofModule);

  const tests = `organizations/${name}/tests/registry-modules/private/${name}/${module}/${crane}`;
  const testVariable = await make(`${tests}/vars`, resource('vars', { ...given, category: 'env' }));
  const testConfiguration = await make(`${tests}/test-runs/configuration-versions`, {});
  await putUrl(workspaces, testConfiguration.attributes['upload-url'], await archiveOf()).expect(200);
  const tested = { 'configuration-version': ref('configuration-versions', testConfiguration.id) };
  const testRun = await make(`${tests}/test-runs`, resource('test-runs', {}, tested));
  const query = await make('queries', resource('queries', {}, { workspace: ref('workspaces', workspace.id) }));

  const registryProvider = `${name}-provider`;
  await makeIn('registry-providers', 'registry-providers', {
    name: registryProvider,
    namespace: name,
    'registry-name': 'private',
  });
  const own = await signingKey(name);
  const keyId = await addKey(owner, name, own);
  const system = [`${crane}os`, `${crane}arch`] as const;
  const published = await publishProvider(
    { server: workspaces.server, admin: owner },
    name,
    registryProvider,
    `1.0.0-${name}`,
    { ...own, keyId },
    [system],
  );

  // Disabled, since no service would answer; created after the runs, which have no stages for it.
  const check = { name: `${name}-task`, url: `https://tasks.${name}.test/`, category: 'task', enabled: false };
  const task = await makeIn('tasks', 'tasks', check);
  const level = { 'enforcement-level': 'advisory', stages: ['post_plan'] };
  const workspaceTask = await make(`${at}/tasks`, resource('workspace-tasks', level, { task: ref('tasks', task.id) }));

  // Created after the runs, because the policy would apply to them.
  const rule = { name: `${name}-policy`, kind: 'opa', query: 'data.x.deny', 'enforcement-level': 'advisory' };
  const policy = await makeIn('policies', 'policies', rule);
  await owner
    .put(`policies/${policy.id}/upload`)
    .set('Content-Type', 'application/octet-stream')
    .send(`# ${name}`)
    .expect(200);
  const policySet = await make(
    `organizations/${name}/policy-sets`,
    resource(
      'policy-sets',
      { name: `${name}-policies`, kind: 'opa' },
      {
        policies: { data: [{ type: 'policies', id: policy.id }] },
        workspaces: { data: [ref('workspaces', workspace.id).data] },
      },
    ),
  );
  const parameter = await make(
    `policy-sets/${policySet.id}/parameters`,
    resource('vars', { ...given, category: 'policy-set' }),
  );
  const dryRun = await make(
    `organizations/${name}/policy-dry-runs`,
    resource('policy-dry-runs', {}, { policies: { data: [ref('policies', policy.id).data] } }),
  );
  const versioned = await makeIn('policy-sets', 'policy-sets', { name: `${name}-versioned`, kind: 'opa' });
  const setVersion = await make(`policy-sets/${versioned.id}/versions`, {});

  const oauthToken = oauthClient.relationships['oauth-tokens'].data[0].id;
  return {
    name,
    owner,
    plain,
    tokens: {
      organization: workspaces.as(organizationToken.attributes.token),
      team: workspaces.as(teamToken.attributes.token),
      agent: workspaces.as(agentToken.attributes.token),
    },
    params: {
      ':organization_name': name,
      ':name': workspace.attributes.name,
      ':workspace_id': workspace.id,
      ':team_id': team.id,
      ':membership_id': member.membershipId,
      ':user_id': member.id,
      ':token_id': organizationToken.id,
      ':project_id': project.id,
      ':ssh_key_id': sshKey.id,
      ':oauth_client_id': oauthClient.id,
      ':oauth_token_id': oauthToken,
      ':pool_id': pool.id,
      ':agent_id': agent.id,
      ':cidr_range_list_id': addresses.id,
      ':cidr_range_id': range.id,
      ':tag_id': tag.id,
      ':reserved_tag_key_id': reserved.id,
      ':team_workspace_id': teamWorkspace.id,
      ':team_project_id': teamProject.id,
      ':varset_id': set.id,
      ':variable_id': variable.id,
      'varsets/:variable_id': setVariable.id,
      ':state_version_id': version.id,
      ':output_id': output.id,
      ':quarantined_id': kept.id,
      ':run_id': run.id,
      ':run_trigger_id': trigger.id,
      ':notification_configuration_id': notification.id,
      ':change_request_id': changeRequest.id,
      ':plan_export_id': planExport.id,
      ':run_event_id': event.id,
      ':comment_id': comment.id,
      ':configuration_version_id': configuration.id,
      ':provider_id': signInProvider.id,
      ':registry_module_id': moduleVersion.relationships['registry-module'].data.id,
      ':namespace': name,
      ':module_name': module,
      ':module_provider': crane,
      ':module_version': `1.0.0-${name}`,
      ':module_version_id': moduleVersion.id,
      ':no_code_module_id': noCode.id,
      ':test_run_id': testRun.id,
      ':test_variable_id': testVariable.id,
      ':query_id': query.id,
      ':registry_provider_id': published.providerId,
      ':provider_name': registryProvider,
      ':provider_version': `1.0.0-${name}`,
      ':version_file': `1.0.0-${name}.json`,
      ':provider_version_id': published.versionId,
      ':provider_platform_id': published.platformId,
      ':os': system[0],
      ':arch': system[1],
      ':key_id': keyId,
      ':task_id': task.id,
      ':workspace_task_id': workspaceTask.id,
      ':policy_id': policy.id,
      ':policy_set_id': policySet.id,
      ':parameter_id': parameter.id,
      ':policy_dry_run_id': dryRun.id,
      ':policy_set_version_id': setVersion.id,
      'plans/:id': planId,
      'test-runs/:id': testRun.id,
      'queries/:id': query.id,
      'applies/:id': applyId,
      'entitlement-sets/:id': organization.id,
      'subscriptions/:id': organization.id,
    },
    ids: {
      organizations: name,
      users: member.id,
      teams: team.id,
      'organization-memberships': member.membershipId,
      projects: project.id,
      workspaces: source.id,
      // One of two types.
      subscribable: source.id,
      'ssh-keys': sshKey.id,
      'oauth-clients': oauthClient.id,
      'oauth-tokens': oauthToken,
      'agent-pools': pool.id,
      tags: tag.id,
      vars: variable.id,
      varsets: set.id,
      runs: run.id,
      plans: planId,
      'state-versions': version.id,
      'configuration-versions': configuration.id,
      tasks: task.id,
      policies: policy.id,
      'policy-sets': policySet.id,
      'registry-modules': ofModule['registry-module'].data.id,
      'team-tokens': teamToken.id,
    },
  };
}

/** An id of the same form that does not exist. */
export const absentLike = (id: string): string =>
  id.includes('-') ? randomId(`${id.slice(0, id.indexOf('-'))}-`) : `no-${id}`;
