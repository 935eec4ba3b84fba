import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { findProgram, testCertificate, urlOf } from '@keystead/testing';
import request from 'supertest';
import { archiveOf, configured, putUrl } from '../configurations';
import { FakeHost } from '../fake-host';
import { signingKey } from '../signed-provider';
import { resource, startWorkspaces } from '../start-workspaces';

jest.setTimeout(600_000);
const terraform = findProgram('terraform');
const provider = process.env.KEYSTEAD_TFE_PROVIDER || findProgram('terraform-provider-tfe');
const it = terraform && provider ? test : test.skip;
const source = path.join(__dirname, 'provider-tfe');

/** Resources that no self-hosted installation supports, as the page about the provider says. */
const absent = [
  'tfe_admin_smtp_settings',
  'tfe_aws_oidc_configuration',
  'tfe_azure_oidc_configuration',
  'tfe_gcp_oidc_configuration',
  'tfe_hyok_configuration',
  'tfe_provider_set',
  'tfe_stack',
  'tfe_stack_variable_set',
  'tfe_vault_oidc_configuration',
];

/** Attributes that the provider does not read: secrets, and two that it forgets. */
const unread = [
  'tfe_organization_run_task.check: update of hmac_key',
  'tfe_policy.small: update of query',
  'tfe_policy_set.followed: update of vcs_repo',
  'tfe_project_notification_configuration.harbour: update of token',
];

type Values = Readonly<Record<string, string>>;
/** The import ids of resources, if they differ from the id; and resources that the provider cannot import. */
const imports: Readonly<Record<string, ((values: Values) => string) | null>> = {
  tfe_admin_organization_settings: null,
  tfe_agent_token: null,
  tfe_oauth_client: null,
  tfe_organization_module_sharing: null,
  tfe_ssh_key: null,
  tfe_test_variable: null,
  tfe_workspace_run: null,
  tfe_audit_trail_token: ({ organization }) => organization!,
  tfe_data_retention_policy: ({ organization, workspace_id: id }) => organization ?? `quay/${id ? 'cranes' : ''}`,
  tfe_notification_configuration: ({ id }) => id!,
  tfe_org_max_token_ttl_policy: ({ organization }) => organization!,
  tfe_organization_default_settings: ({ organization }) => organization!,
  tfe_organization_run_task: ({ name }) => `quay/${name}`,
  tfe_organization_run_task_global_settings: () => 'quay/check',
  tfe_policy: ({ id }) => `quay/${id}`,
  tfe_policy_set_parameter: ({ policy_set_id: set, id }) => `${set}/${id}`,
  tfe_project_oauth_client: ({ project_id: project }) => `quay/${project}/own`,
  tfe_project_policy_set: ({ project_id: project }) => `quay/${project}/chosen`,
  tfe_project_policy_set_exclusion: ({ project_id: project, policy_set_id: set }) => `${project}/${set}`,
  tfe_project_variable_set: ({ project_id: project }) => `quay/${project}/weather`,
  tfe_registry_gpg_key: ({ id }) => `quay/${id}`,
  tfe_registry_module: ({ registry_name: registry, namespace, name, module_provider: of, id }) =>
    `quay/${registry}/${namespace}/${name}/${of}/${id}`,
  tfe_registry_provider: ({ registry_name: registry, namespace, name }) => `quay/${registry}/${namespace}/${name}`,
  tfe_saml_settings: () => 'saml',
  tfe_scim_group_mapping: ({ team_id: team }) => team!,
  tfe_scim_settings: () => 'scim',
  tfe_sentinel_policy: ({ id }) => `quay/${id}`,
  tfe_tag_policy_set: ({ policy_set_id: set, key, value }) => [set, key, ...(value ? [value] : [])].join('/'),
  tfe_tag_policy_set_exclusion: ({ policy_set_id: set, key, value }) => [set, key, ...(value ? [value] : [])].join('/'),
  tfe_team: ({ id }) => `quay/${id}`,
  tfe_team_access: ({ id }) => `quay/cranes/${id}`,
  tfe_team_organization_member: ({ team_id: team, organization_membership_id: member }) => `${team}/${member}`,
  tfe_variable: ({ variable_set_id: set, id }) => `quay/${set ?? 'cranes'}/${id}`,
  tfe_workspace_policy_set: () => 'quay/cranes/chosen',
  tfe_workspace_policy_set_exclusion: () => 'quay/cranes/global',
  tfe_workspace_run_task: () => 'quay/cranes/check',
  tfe_workspace_variable_set: () => 'quay/cranes/weather',
};

interface Resource {
  readonly address: string;
  readonly type: string;
  readonly values: Record<string, string>;
}
interface Change {
  readonly address: string;
  readonly change: {
    readonly actions: readonly string[];
    readonly importing?: object;
    readonly before: Record<string, unknown> | null;
    readonly after: Record<string, unknown> | null;
  };
}

/** GitHub with one repository, `team/net`. */
class OneRepository extends FakeHost {
  protected async respond({ url = '' }: IncomingMessage): Promise<readonly [number, unknown]> {
    const sha = 'a'.repeat(40);
    const at = '/repos/team/net';
    const found = {
      [at]: {
        id: 42,
        full_name: 'team/net',
        html_url: this.origin,
        clone_url: `${this.origin}/net.git`,
        default_branch: 'main',
      },
      [`${at}/git/ref/heads/main`]: { object: { sha } },
      [`${at}/commits/${sha}`]: { sha, commit: { message: 'Begin' } },
    }[url];
    return found ? [200, found] : [404, {}];
  }
}

// The unmodified provider, with one of each of its resources.
describe('the provider tfe, in the self-hosted edition', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'provider-'));
  const git = new OneRepository();
  const env = {
    WORKSPACES_EDITION: 'self-hosted',
    WORKSPACES_VCS: 'on',
    WORKSPACES_VCS_NETWORKS: '127.0.0.1/32',
    WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1',
  };
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;
  let receiver: Server;
  let given: NodeJS.ProcessEnv = {};
  const later: Record<string, string> = {};
  let owner = admin;

  beforeAll(async () => {
    await git.start();
    receiver = createServer((asked, answer) => asked.resume().on('end', () => answer.end()));
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const grace = await workspaces.person('grace');
    const { body: me } = await admin.get('account/details').expect(200);
    // A token with an expiry: an organization that requires expiries would refuse a token without one.
    const ends = { 'expired-at': new Date(Date.now() + 86_400_000).toISOString() };
    const { body: token } = await admin
      .post(`users/${me.data.id}/authentication-tokens`, resource('authentication-tokens', ends))
      .expect(201);
    owner = workspaces.as(token.data.attributes.token);
    const api = `${urlOf(workspaces.server)}/api/v2/`;
    writeFileSync(
      path.join(box, 'tool.rc'),
      `disable_checkpoint = true
host "keystead.local" { services = { "tfe.v2" = "${api}", "tfe.v2.1" = "${api}", "tfe.v2.2" = "${api}" } }
provider_installation {
  dev_overrides { "hashicorp/tfe" = "${path.dirname(provider ?? '')}" }
  direct {}
}
`,
    );
    given = {
      PATH: process.env.PATH,
      HOME: box,
      TF_CLI_CONFIG_FILE: path.join(box, 'tool.rc'),
      TF_IN_AUTOMATION: '1',
      TFE_HOSTNAME: 'keystead.local',
      TFE_TOKEN: owner.token,
      TF_VAR_git: git.origin,
      TF_VAR_receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      TF_VAR_person: grace.username,
      TF_VAR_owner: me.data.attributes.username,
      TF_VAR_gpg_key: (await signingKey('quay')).publicKey,
      TF_VAR_ssh_key: String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
      TF_VAR_certificate: testCertificate.cert,
    };
    mkdirSync(path.join(box, 'main'));
    copyFileSync(path.join(source, 'main.tf'), path.join(box, 'main', 'main.tf'));
  });
  afterAll(() => {
    receiver?.close();
    git.stop();
    rmSync(box, { recursive: true, force: true });
  });

  const run = async (folder: string, ...args: string[]): Promise<string> => {
    const cwd = path.join(box, folder);
    const options = { cwd, env: { ...given, ...later }, maxBuffer: 2 ** 26 };
    const { stdout } = await promisify(execFile)(terraform!, args, options).catch((error) => {
      throw new Error(`terraform ${args.join(' ')}: ${error.stderr}`);
    });
    return stdout;
  };
  const apply = (folder: string) => run(folder, 'apply', '-auto-approve', '-input=false', '-no-color');
  const plan = (folder: string) => run(folder, 'plan', '-input=false', '-no-color');
  const resources = async (): Promise<Resource[]> =>
    JSON.parse(await run('main', 'show', '-json')).values.root_module.resources;
  const output = (name: string) => run('main', 'output', '-raw', name);

  it('creates one of each of its resources, and then plans no changes', async () => {
    expect(await apply('main')).toContain('Apply complete!');
    expect(await plan('main')).toContain('No changes.');

    const version = resource('registry-module-versions', { version: '1.0.0' });
    const made = await owner.post('registry-modules/quay/berth/crane/versions', version).expect(201);
    const archive = await archiveOf([['main.tf', 'variable "height" { type = string }']]);
    await putUrl(workspaces, made.body.data.links.upload, archive).expect(200);
    await configured(workspaces, await output('workspace'), {}, owner);
    const group = await request(workspaces.server)
      .post('/scim/v2/Groups')
      .set('Authorization', `Bearer ${await output('scim_token')}`)
      .set('Content-Type', 'application/scim+json')
      .send(JSON.stringify({ displayName: 'drivers' }))
      .expect(201);
    later.TF_VAR_group = group.body.id;
    copyFileSync(path.join(source, 'later.tf'), path.join(box, 'main', 'later.tf'));
    expect(await apply('main')).toContain('Apply complete!');
    expect(await plan('main')).toContain('No changes.');
  });

  it('is tried with every resource of the provider that can exist here', async () => {
    const described = JSON.parse(await run('main', 'providers', 'schema', '-json')).provider_schemas;
    const known = Object.keys(described['registry.terraform.io/hashicorp/tfe'].resource_schemas);
    const tried = new Set((await resources()).map(({ type }) => type));
    expect(known.filter((type) => !tried.has(type)).sort()).toEqual(absent);
  });

  it('imports its resources without changes, as far as the provider can import them', async () => {
    const all = await resources();
    const wanted = all.filter(({ type }) => imports[type] !== null);
    const blocks = wanted.map(({ address, type, values }) => {
      const id = imports[type]?.(values) ?? values.id;
      return `import {\n  to = ${address}\n  id = "${id}"\n}\n`;
    });
    mkdirSync(path.join(box, 'imported'));
    for (const file of ['main.tf', 'later.tf']) copyFileSync(path.join(source, file), path.join(box, 'imported', file));
    writeFileSync(path.join(box, 'imported', 'imports.tf'), blocks.join(''));
    const state = JSON.parse(readFileSync(path.join(box, 'main', 'terraform.tfstate'), 'utf8'));
    state.resources = state.resources.filter(({ type }: Resource) => imports[type] === null);
    writeFileSync(path.join(box, 'imported', 'terraform.tfstate'), JSON.stringify(state));
    await run('imported', 'plan', '-input=false', '-no-color', '-out=plan');
    const { resource_changes: changes } = JSON.parse(await run('imported', 'show', '-json', 'plan'));
    const changed = (changes as Change[])
      .filter(({ change }) => change.importing && change.actions.join() !== 'no-op')
      .map(({ address, change: { actions, before, after } }) => {
        const names = Object.keys(after ?? {}).filter((name) => !isDeepStrictEqual(before?.[name], after?.[name]));
        return `${address}: ${actions} of ${names}`;
      });
    expect(changed.sort()).toEqual(unread);
    expect((changes as Change[]).filter(({ change }) => change.importing)).toHaveLength(wanted.length);
  });

  it('destroys its resources', async () => {
    const said = await run('main', 'destroy', '-auto-approve', '-input=false', '-no-color');
    expect(said).toContain('Destroy complete!');
    await owner.get('organizations/quay').expect(404);
  });
});
