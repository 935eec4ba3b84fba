import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Bell } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import { emptyDatabase, type TestDatabase, testServer } from '@keystead/testing';
import pg from 'pg';
import { startSecrets } from '../../apps/secrets/test/start-secrets';
import { claimJob } from '../../apps/workspaces/src/resources/runs/runs/jobs/claims';
import { carryOut } from '../../apps/workspaces/src/worker/job/carry-out';
import { credentialsFor } from '../../apps/workspaces/src/worker/job/credentials';
import { databaseSource } from '../../apps/workspaces/src/worker/job/job-source';
import { announced, archiveOf, logOf, putUrl, startRun } from '../../apps/workspaces/test/configurations';
import { resource, startWorkspaces } from '../../apps/workspaces/test/start-workspaces';
import { findTool, kindsHere, makeExecutor, noTool } from '../../apps/workspaces/test/worker-fixture';

const issuer = 'https://workspaces.test';

// Replaces the tool: the plan and the apply run the configuration's program.
const standIn = `#!/bin/sh
case $1 in
  plan) node probe.mjs plan || exit 1; for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  apply) node probe.mjs apply ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
esac
`;

const sdk = createRequire(path.resolve('apps/secrets/package.json')).resolve('@aws-sdk/credential-providers');

/**
 * Logs in like the providers: AWS with its own library, Google and Azure with the data in their files, each at the
 * stand-in.
 */
const probe = `
import { readFileSync } from 'node:fs';
import sdk from '${sdk}';
const say = (what, result) => console.log(what + ': ' + result);
const text = (file) => readFileSync(file, 'utf8');
const cloud = process.env.CLOUD;
const post = async (path, form) => {
  const response = await fetch(cloud + path, { method: 'POST', body: new URLSearchParams(form) });
  return (await response.text()).trim();
};
const variable = (name) => JSON.parse(process.env['TF_VAR_tfc_' + name + '_dynamic_credentials'] ?? 'null');
const attempt = async (what, work) => say(what, await work().catch((error) => 'refused ' + error.message));
const google = async (file) => {
  const { audience, subject_token_type, credential_source, token_url, service_account_impersonation_url } = JSON.parse(text(file));
  return post('/gcp', { audience, subject_token_type, subject_token: text(credential_source.file), token_url, service_account_impersonation_url });
};
const azure = (id, token, tenant) => post('/azure/' + tenant, {
  client_id: id, client_assertion: token, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' });
if (process.env.AWS_ROLE_ARN) await attempt('aws', async () => (await sdk.fromTokenFile({ clientConfig: { region: 'eu-west-1' } })()).accessKeyId);
for (const [tag, { shared_config_file }] of Object.entries(variable('aws')?.aliases ?? {})) {
  process.env.AWS_CONFIG_FILE = shared_config_file;
  await attempt('aws ' + tag, async () => (await sdk.fromIni({ profile: 'default', clientConfig: { region: 'eu-west-1' } })()).accessKeyId);
}
if (process.env.GOOGLE_CREDENTIALS) await attempt('gcp', () => google(process.env.GOOGLE_CREDENTIALS));
for (const [tag, { credentials }] of Object.entries(variable('gcp')?.aliases ?? {})) await attempt('gcp ' + tag, () => google(credentials));
if (process.env.ARM_USE_OIDC) await attempt('azure', () => azure(process.env.ARM_CLIENT_ID, text(process.env.ARM_OIDC_TOKEN_FILE_PATH), 'tenant'));
for (const [tag, files] of Object.entries(variable('azure')?.aliases ?? {}))
  await attempt('azure ' + tag, () => azure(text(files.client_id_file_path), text(files.oidc_token_file_path), 'tenant'));
if (process.env.KUBE_TOKEN) await attempt('kubernetes', () => post('/kubernetes', { token: process.env.KUBE_TOKEN }));
if (variable('kubernetes')) say('same', text(variable('kubernetes').default.token_path) === process.env.KUBE_TOKEN);
for (const [name, token] of Object.entries(process.env).filter(([name]) => name.startsWith('TFC_WORKLOAD_IDENTITY_TOKEN')).sort())
  await attempt(name, () => post('/any', { token, audience: process.env[name.replace('TOKEN', 'AUDIENCE')] }));
say('variables', Object.keys(process.env).filter((name) => name.startsWith('TF_VAR_tfc_')).sort().join(' '));
if (process.env.VAULT_TOKEN) await attempt('vault', async () => {
  const headers = { 'X-Vault-Token': process.env.VAULT_TOKEN };
  return (await fetch(process.env.VAULT_ADDR + '/v1/auth/token/lookup-self', { headers })).status;
});
say('token', process.env.TFC_WORKLOAD_IDENTITY_TOKEN);
`;

type Claims = Record<string, string | number>;

describe('the identities of runs', () => {
  const secrets = startSecrets();
  const workspaces = startWorkspaces({ env: { WORKSPACES_PUBLIC_URL: issuer } });
  const box = mkdtempSync(path.join(tmpdir(), 'workload-identity-'));
  const log = createLogger({ name: 'worker', level: 'silent' });
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  let cloud: ReturnType<typeof createServer>;
  /** Subjects by the role, account, client or audience that the stand-in trusts. */
  const trusted = new Map<string, { audience: string; subject: RegExp }>();
  const seen: Claims[] = [];

  const at = (server: { address(): AddressInfo | string | null }) =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** Verifies a token like an outside system, with the published keys. Throws the reason of a refusal. */
  async function check(token: string, who: string): Promise<Claims> {
    const [head = '', body = '', signature = ''] = token.split('.');
    const { kid, alg } = JSON.parse(Buffer.from(head, 'base64url').toString());
    const found = await (await fetch(`${at(workspaces.server)}/.well-known/jwks`)).json();
    const jwk = (found as { keys: { kid: string }[] }).keys.find((one) => one.kid === kid);
    if (!jwk || alg !== 'RS256') throw new Error('unknown key');
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    if (!verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'))) {
      throw new Error('bad signature');
    }
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Claims;
    const now = Date.now() / 1000;
    if (claims.iss !== issuer || Number(claims.exp) < now || Number(claims.nbf) > now + 5) throw new Error('not now');
    const trust = trusted.get(who);
    if (!trust) throw new Error(`${who} trusts no one`);
    if (claims.aud !== trust.audience) throw new Error(`audience ${claims.aud}`);
    if (!trust.subject.test(String(claims.sub))) throw new Error(`subject ${claims.sub}`);
    seen.push(claims);
    return claims;
  }

  async function exchange(url: string, form: URLSearchParams): Promise<string> {
    const given = Object.fromEntries(form);
    if (given.Action === 'AssumeRoleWithWebIdentity') {
      const role = given.RoleArn ?? '';
      await check(given.WebIdentityToken ?? '', role);
      return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
        <Credentials><AccessKeyId>key-of-${role.split('/').at(-1)}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
        <SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>
        </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
    }
    if (url === '/gcp') {
      if (given.token_url !== 'https://sts.googleapis.com/v1/token') throw new Error('token_url');
      if (given.subject_token_type !== 'urn:ietf:params:oauth:token-type:jwt') throw new Error('subject_token_type');
      await check(given.subject_token ?? '', given.audience ?? '');
      return `as ${/serviceAccounts\/(.*):generateAccessToken$/.exec(given.service_account_impersonation_url ?? '')?.[1]}`;
    }
    if (url === '/azure/tenant') {
      await check(given.client_assertion ?? '', given.client_id ?? '');
      return `as ${given.client_id}`;
    }
    if (url === '/kubernetes') return `as ${(await check(given.token ?? '', 'cluster')).terraform_workspace_name}`;
    return `for ${(await check(given.token ?? '', given.audience ?? '')).aud}`;
  }

  beforeAll(async () => {
    const file = path.join(box, 'terraform');
    writeFileSync(file, standIn, { mode: 0o755 });
    executor = await makeExecutor('same-user', { file, version: '1.11.4', product: 'Terraform' });
    cloud = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        exchange(request.url ?? '', new URLSearchParams(Buffer.concat(pieces).toString())).then(
          (text) => response.end(text),
          (error: Error) => response.writeHead(403).end(`refused ${error.message}`),
        );
      });
    });
    await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
    const config = { jwks_url: `${at(workspaces.server)}/.well-known/jwks`, bound_issuer: issuer };
    await secrets.root.write('auth/jwt/config', config).expect(204);
  });
  afterAll(() => {
    executor?.remove();
    cloud?.close();
    rmSync(box, { recursive: true, force: true });
  });

  const sourceOf = () =>
    databaseSource({
      db: workspaces.service.db,
      keyring: workspaces.service.env.keyring,
      workerId: 'worker-1',
      leaseSeconds: 60,
      versions: [],
      secrets: { address: at(secrets.server), mount: 'jwt', audience: 'login', issuer },
      issuer,
      now: Date.now,
      bell: new Bell(),
    });

  async function workspaceWith(name: string, env: Record<string, string>, sensitive: readonly string[] = []) {
    const { id } = await workspaces.workspace('acme', name);
    for (const [key, value] of Object.entries(env)) {
      const body = resource('vars', { key, value, category: 'env', sensitive: sensitive.includes(key) });
      await workspaces.admin.post(`workspaces/${id}/vars`, body).expect(201);
    }
    return id as string;
  }

  /** Claims the next job and carries it out; returns the log. */
  async function carryNext(runs = executor) {
    const { db, env } = workspaces.service;
    const versions = runs.binaries.map(({ version }) => version);
    const job = await claimJob(db, env.keyring, { workerId: 'worker-1', leaseSeconds: 60, versions });
    if (!job) throw new Error('no job');
    const source = sourceOf();
    await carryOut(
      {
        source,
        executor: { ...runs, workerId: 'worker-1' },
        log,
        heartbeatMs: 200,
        graceSeconds: 5,
        logBytes: 1_000_000,
        credentials: (about, concealer, environment) => credentialsFor(source, log, about, concealer, environment),
      },
      job,
    ).done;
    const run = (await workspaces.admin.get(`runs/${job.runId}`).expect(200)).body.data;
    return { said: await logOf(workspaces, job), status: run.attributes.status as string, job };
  }

  async function start(id: string, files: readonly (readonly [string, string])[] = [['probe.mjs', probe]], more = {}) {
    const { id: version, attributes } = await announced(workspaces.admin, id);
    await putUrl(workspaces, attributes['upload-url'], await archiveOf(files)).expect(200);
    return (await startRun(workspaces.admin, id, more, version).expect(201)).body.data.id as string;
  }

  const subject = (workspace: string, phase = 'plan') =>
    new RegExp(`^organization:acme:project:Default Project:workspace:${workspace}:run_phase:${phase}$`);

  it('log in to clouds by phase and tag, several at once, and their tokens are never in the log', async () => {
    const pool = 'projects/123/locations/global/workloadIdentityPools/pool/providers/keystead';
    const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`;
    const id = await workspaceWith(
      'clouds',
      {
        CLOUD: at(cloud),
        AWS_REGION: 'eu-west-1',
        AWS_ENDPOINT_URL_STS: at(cloud),
        TFC_AWS_PROVIDER_AUTH: 'true',
        TFC_AWS_PLAN_ROLE_ARN: role('reads'),
        TFC_AWS_APPLY_ROLE_ARN: role('writes'),
        TFC_AWS_PROVIDER_AUTH_WEST: 'true',
        TFC_DEFAULT_AWS_RUN_ROLE_ARN: role('any'),
        TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE_WEST: 'west',
        TFC_GCP_PROVIDER_AUTH: 'true',
        TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: 'runs@g.test',
        TFC_GCP_WORKLOAD_PROVIDER_NAME: pool,
        TFC_GCP_PROVIDER_AUTH_two: 'true',
        TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL_two: 'two@g.test',
        TFC_GCP_PROJECT_NUMBER_two: '123',
        TFC_GCP_WORKLOAD_POOL_ID_two: 'pool',
        TFC_GCP_WORKLOAD_PROVIDER_ID_two: 'keystead',
        TFC_AZURE_PROVIDER_AUTH: 'true',
        TFC_AZURE_RUN_CLIENT_ID: 'client-1',
        TFC_AZURE_PROVIDER_AUTH_B: 'true',
        TFC_AZURE_RUN_CLIENT_ID_B: 'client-2',
        TFC_KUBERNETES_PROVIDER_AUTH: 'true',
        TFC_KUBERNETES_WORKLOAD_IDENTITY_AUDIENCE: 'cluster',
        TFC_WORKLOAD_IDENTITY_AUDIENCE: 'anything',
        TFC_WORKLOAD_IDENTITY_AUDIENCE_OTHER: 'https://other.test',
      },
      ['TFC_AWS_PROVIDER_AUTH', 'TFC_AWS_PLAN_ROLE_ARN'],
    );
    const trust = (who: string, audience: string, phase = '(plan|apply)') =>
      trusted.set(who, { audience, subject: subject('clouds', phase) });
    trust(role('reads'), 'aws.workload.identity', 'plan');
    trust(role('writes'), 'aws.workload.identity', 'apply');
    trust(role('any'), 'west');
    trust(`//iam.googleapis.com/${pool}`, `//iam.googleapis.com/${pool}`);
    trust('client-1', 'api://AzureADTokenExchange');
    trust('client-2', 'api://AzureADTokenExchange');
    for (const audience of ['cluster', 'anything', 'https://other.test']) trust(audience, audience);
    const expected = (name: string) =>
      [
        `aws: key-of-${name}`,
        'aws WEST: key-of-any',
        'gcp: as runs@g.test',
        'gcp two: as two@g.test',
        'azure: as client-1',
        'azure B: as client-2',
        'kubernetes: as clouds',
        'same: true',
        'TFC_WORKLOAD_IDENTITY_TOKEN: for anything',
        'TFC_WORKLOAD_IDENTITY_TOKEN_OTHER: for https://other.test',
        `variables: ${['aws', 'azure', 'gcp', 'kubernetes'].map((one) => `TF_VAR_tfc_${one}_dynamic_credentials`).join(' ')}`,
        'token: ***',
      ].join('\n');
    const runId = await start(id);
    const plan = await carryNext();
    expect(plan.said).toContain(expected('reads'));
    await workspaces.admin.post(`runs/${runId}/actions/apply`, {}).expect(202);
    const apply = await carryNext();
    expect(apply.said).toContain(expected('writes'));
    expect(apply.said).not.toMatch(/eyJ/);
    const { organizationId, projectId } = await workspaces.service.db.prisma.workspace.findUniqueOrThrow({
      where: { id },
    });
    expect(seen.at(-1)).toMatchObject({
      terraform_organization_id: organizationId,
      terraform_organization_name: 'acme',
      terraform_project_id: projectId,
      terraform_project_name: 'Default Project',
      terraform_workspace_id: id,
      terraform_workspace_name: 'clouds',
      terraform_full_workspace: 'organization:acme:project:Default Project:workspace:clouds',
      terraform_run_id: runId,
      terraform_run_phase: 'apply',
      organization_id: organizationId,
    });
    expect(Number(seen.at(-1)!.exp) - Number(seen.at(-1)!.iat)).toBeLessThanOrEqual(3600);
  });

  it('are shown before there is a run, without the values of sensitive variables', async () => {
    const { id } = (await workspaces.admin.get('organizations/acme/workspaces/clouds').expect(200)).body.data;
    const { data, meta } = (await workspaces.admin.get(`workspaces/${id}/workload-identities`).expect(200)).body;
    expect(meta).toMatchObject({ problems: [] });
    const aws = data.filter((one: { attributes: { kind: string } }) => one.attributes.kind === 'aws');
    expect(aws.map((one: { attributes: object }) => one.attributes)).toEqual([
      expect.objectContaining({
        phase: 'plan',
        tag: '',
        audience: 'aws.workload.identity',
        issuer,
        subject: 'organization:acme:project:Default Project:workspace:clouds:run_phase:plan',
        settings: [{ name: 'ROLE_ARN', value: null }],
      }),
      expect.objectContaining({ phase: 'plan', tag: 'WEST', audience: 'west' }),
      expect.objectContaining({
        phase: 'apply',
        tag: '',
        settings: [expect.objectContaining({ value: expect.any(String) })],
      }),
      expect.objectContaining({ phase: 'apply', tag: 'WEST' }),
    ]);
    expect(JSON.stringify(data)).not.toContain('role/reads');
  });

  it('have a subject of ids if requested, and if the name of the organization looks like an id', async () => {
    const id = await workspaceWith('by-id', {
      CLOUD: at(cloud),
      WORKLOAD_IDENTITY_SUBJECT: 'ids',
      TFC_WORKLOAD_IDENTITY_AUDIENCE: 'by-id',
    });
    const { organizationId, projectId } = await workspaces.service.db.prisma.workspace.findUniqueOrThrow({
      where: { id },
    });
    const spelled = `organization:${organizationId}:project:${projectId}:workspace:${id}:run_phase:plan`;
    trusted.set('by-id', { audience: 'by-id', subject: new RegExp(`^${spelled}$`) });
    await start(id);
    expect((await carryNext()).said).toContain('TFC_WORKLOAD_IDENTITY_TOKEN: for by-id');
    // Another organization cannot produce this subject with its names.
    await workspaces.organization(organizationId, { 'default-execution-mode': 'remote' });
    const other = await workspaces.workspace(organizationId, id);
    const body = resource('vars', { key: 'TFC_WORKLOAD_IDENTITY_AUDIENCE', value: 'x', category: 'env' });
    await workspaces.admin.post(`workspaces/${other.id}/vars`, body).expect(201);
    const { data } = (await workspaces.admin.get(`workspaces/${other.id}/workload-identities`).expect(200)).body;
    expect(data[0].attributes.subject).toContain(`:workspace:${other.id}:run_phase:plan`);
  });

  it.each<[string, Record<string, string>, string]>([
    ['has no role', { TFC_AWS_PROVIDER_AUTH: 'true' }, 'TFC_AWS_PROVIDER_AUTH is set, but TFC_AWS_RUN_ROLE_ARN is not'],
    [
      'names no pool',
      { TFC_GCP_PROVIDER_AUTH_A: 'true' },
      'neither TFC_GCP_WORKLOAD_PROVIDER_NAME_A nor TFC_GCP_PROJECT_NUMBER_A is',
    ],
    ['has no audience', { TFC_KUBERNETES_PROVIDER_AUTH: 'true' }, 'TFC_KUBERNETES_WORKLOAD_IDENTITY_AUDIENCE is not'],
    ['is not offered', { TFC_HCP_PROVIDER_AUTH: 'true' }, 'asks for a login that this service does not offer'],
    [
      'redirects to another host',
      { TFC_VAULT_PROVIDER_AUTH: 'true', TFC_VAULT_RUN_ROLE: 'x', TFC_VAULT_ADDR: 'file:///etc/passwd' },
      'TFC_VAULT_ADDR is not an http or https address',
    ],
    [
      'has a path that leads outside',
      {
        TFC_VAULT_PROVIDER_AUTH: 'true',
        TFC_VAULT_RUN_ROLE: 'x',
        TFC_VAULT_ADDR: 'http://vault.test',
        TFC_VAULT_AUTH_PATH: '../../sys',
      },
      'TFC_VAULT_AUTH_PATH is not a path',
    ],
    [
      'is at a metadata address',
      { TFC_VAULT_PROVIDER_AUTH: 'true', TFC_VAULT_RUN_ROLE: 'x', TFC_VAULT_ADDR: 'http://169.254.169.254' },
      'it cannot be reached',
    ],
  ])('fail the run with the reason if a login %s', async (what, env, reason) => {
    const id = await workspaceWith(`no-${what.replaceAll(' ', '-')}`, env);
    await start(id);
    const { said, status } = await carryNext();
    expect(said).toContain(reason);
    expect(status).toBe('errored');
  });

  it('are not issued for a pull request of a fork, or for a job that has ended', async () => {
    const id = await workspaceWith('forked', { CLOUD: at(cloud), TFC_WORKLOAD_IDENTITY_AUDIENCE: 'anything' });
    const runId = await start(id);
    const { db } = workspaces.service;
    const run = await db.prisma.run.findUniqueOrThrow({ where: { id: runId } });
    await db.prisma.ingressAttributes.create({
      data: {
        id: 'ia-forked',
        configurationVersionId: run.configurationVersionId!,
        identifier: 'acme/forked',
        cloneUrl: 'https://git.test/acme/forked',
        commitSha: 'a'.repeat(40),
        commitMessage: '',
        commitUrl: '',
        fromFork: true,
      },
    });
    const { said, job } = await carryNext();
    expect(said).toContain('This run has no identity tokens: the pull request comes from a fork.');
    expect(said).toContain('token: undefined');
    expect(await sourceOf().identities(job)).toEqual({ withheld: 'the run is over' });
  });

  it('log in to our own secrets service, by the documented variables', async () => {
    const id = await workspaceWith('vaulted', {
      CLOUD: at(cloud),
      TFC_VAULT_PROVIDER_AUTH: 'true',
      TFC_VAULT_ADDR: at(secrets.server),
      TFC_VAULT_RUN_ROLE: 'vaulted',
    });
    const role = {
      user_claim: 'terraform_full_workspace',
      bound_audiences: ['vault.workload.identity'],
      bound_claims_type: 'glob',
      bound_claims: { sub: 'organization:acme:project:*:workspace:vaulted:run_phase:*' },
      token_ttl: '10m',
    };
    await secrets.root.write('auth/jwt/role/vaulted', role).expect(204);
    await start(id);
    const { said, status } = await carryNext();
    expect(said).toContain('vault: 200');
    expect(status).toBe('planned');
    expect(await workspaces.service.db.prisma.runCredential.count()).toBe(0);
    const { data } = (await secrets.root.list('auth/token/accessors').expect(200)).body;
    for (const accessor of data.keys) {
      const { body } = await secrets.root.write('auth/token/lookup-accessor', { accessor });
      expect(body.data?.display_name ?? '').not.toMatch(/^jwt-/);
    }
  });

  describe.each(kindsHere().slice(0, 1))('with a real tool under %s', (kind) => {
    let database: TestDatabase;
    let real: Awaited<ReturnType<typeof makeExecutor>>;
    beforeAll(async () => {
      if (noTool) return;
      database = await emptyDatabase();
      real = await makeExecutor(kind, await findTool());
      const { adminUrl } = await testServer();
      const address = Object.assign(new URL(adminUrl), { pathname: `/${database.name}` });
      const admin = new pg.Client({ connectionString: address.href });
      await admin.connect();
      await admin.query('CREATE TABLE harvest (weight int); INSERT INTO harvest VALUES (42)');
      await admin.end();
      await secrets.root.write('sys/mounts/database', { type: 'database' }).expect(204);
      await secrets.root
        .write('database/config/farm', {
          plugin_name: 'postgresql-database-plugin',
          connection_url: address.href,
          allowed_roles: ['reader'],
        })
        .expect(204);
      const statement = `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'; GRANT SELECT ON harvest TO "{{name}}"`;
      await secrets.root
        .write('database/roles/reader', { db_name: 'farm', creation_statements: [statement] })
        .expect(204);
      const policy = 'path "database/creds/reader" { capabilities = ["read"] }';
      await secrets.root.write('sys/policies/acl/reader', { policy }).expect(204);
    });
    afterAll(async () => {
      real?.remove();
      await database?.drop();
    });

    const configuration = (token: string) => `
variable "tfc_vault_dynamic_credentials" {
  type = object({
    default = object({ token_filename = string, address = string, namespace = string, ca_cert_file = string })
    aliases = map(object({ token_filename = string, address = string, namespace = string, ca_cert_file = string }))
  })
  default = null
}
variable "database" { type = string }
resource "terraform_data" "harvest" {
  provisioner "local-exec" {
    command = <<-END
      answer=$(curl -s -H "X-Vault-Token: ${token}" $VAULT_ADDR/v1/database/creds/reader)
      name=$(echo "$answer" | sed 's/.*"username":"\\([^"]*\\)".*/\\1/')
      PGPASSWORD=$(echo "$answer" | sed 's/.*"password":"\\([^"]*\\)".*/\\1/') \\
        psql --no-psqlrc -U "$name" -tAc "select 'weight ' || weight || ' for ' || current_user from harvest" "\${var.database}"
    END
  }
}
`;
    async function reads(id: string, token: string) {
      const { host } = new URL(database.url);
      const [name = '', port = ''] = host.split(':');
      const body = resource('vars', {
        key: 'database',
        value: `host=${name} port=${port} dbname=${database.name}`,
        category: 'terraform',
      });
      await workspaces.admin.post(`workspaces/${id}/vars`, body).expect(201);
      const version = (await findTool()).version;
      await workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', { 'terraform-version': version }));
      await start(id, [['main.tf', configuration(token)]], { 'auto-apply': true });
      const plan = await carryNext(real);
      expect(plan.said).toContain('1 to add');
      const apply = await carryNext(real);
      expect(apply.said).toMatch(/weight 42 for v-jwt-/);
      expect(apply.status).toBe('applied');
    }

    it('read a database password of the secrets service without any stored key, with one setting', async () => {
      if (noTool) return;
      const { id } = await workspaces.workspace('acme', 'farm', { 'secrets-role': 'farm' });
      await secrets.root
        .write('auth/jwt/role/farm', {
          user_claim: 'workspace_id',
          bound_audiences: ['login'],
          bound_claims: { workspace_id: id },
          token_policies: ['reader'],
          token_ttl: '10m',
        })
        .expect(204);
      await reads(id, '$VAULT_TOKEN');
    });

    it('read the same password with the variable of the tool that names files', async () => {
      if (noTool) return;
      const id = await workspaceWith('tagged-farm', {
        VAULT_ADDR: at(secrets.server),
        TFC_VAULT_PROVIDER_AUTH_FARM: 'true',
        TFC_VAULT_ADDR_FARM: at(secrets.server),
        TFC_VAULT_RUN_ROLE_FARM: 'tagged',
      });
      await secrets.root
        .write('auth/jwt/role/tagged', {
          user_claim: 'terraform_workspace_id',
          bound_audiences: ['vault.workload.identity'],
          bound_claims: { terraform_workspace_id: id },
          token_policies: ['reader'],
          token_ttl: '10m',
        })
        .expect(204);
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the tool's own.
      await reads(id, '$(cat ${var.tfc_vault_dynamic_credentials.aliases["FARM"].token_filename})');
    });
  });
});
