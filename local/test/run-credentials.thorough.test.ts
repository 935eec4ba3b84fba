import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Bell } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import { startSecrets } from '../../apps/secrets/test/start-secrets';
import { claimJob } from '../../apps/workspaces/src/resources/runs/runs/jobs/claims';
import { revokeLeft } from '../../apps/workspaces/src/resources/runs/runs/jobs/inputs';
import type { RunJob } from '../../apps/workspaces/src/resources/runs/runs/jobs/job';
import { finishPlan } from '../../apps/workspaces/src/resources/runs/runs/jobs/results';
import { carryOut } from '../../apps/workspaces/src/worker/job/carry-out';
import { credentialsFor } from '../../apps/workspaces/src/worker/job/credentials';
import { databaseSource } from '../../apps/workspaces/src/worker/job/job-source';
import { Concealer } from '../../apps/workspaces/src/worker/tool/run-log';
import { announced, archiveOf, logOf, putUrl, startRun } from '../../apps/workspaces/test/configurations';
import { resource, startWorkspaces } from '../../apps/workspaces/test/start-workspaces';
import { makeExecutor } from '../../apps/workspaces/test/worker-fixture';

const issuer = 'https://workspaces.test';
const audience = 'https://secrets.test';

// Replaces the tool: a plan prints its environment, and the answer of the secrets service.
const standIn = `#!/bin/sh
case $1 in
  plan)
    echo "token=$SERVICE_TOKEN same=$([ "$SERVICE_TOKEN" = "$VAULT_TOKEN" ] && echo yes) at=$VAULT_ADDR"
    node -e "fetch(process.env.SERVICE_ADDR+'/v1/cubbyhole/seen',{method:'POST',headers:{'X-Vault-Token':process.env.SERVICE_TOKEN},body:'{\\"a\\":\\"b\\"}'}).then(r=>console.log('answered',r.status))"
    for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
esac
`;

describe('a run with a role of the secrets service', () => {
  const secrets = startSecrets();
  const workspaces = startWorkspaces({ env: { WORKSPACES_PUBLIC_URL: issuer } });
  const box = mkdtempSync(path.join(tmpdir(), 'run-credentials-'));
  const log = createLogger({ name: 'worker', level: 'silent' });
  let executor: Awaited<ReturnType<typeof makeExecutor>>;

  const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;
  const address = () => `http://127.0.0.1:${portOf(secrets.server)}`;
  const secretsService = () => ({ address: address(), mount: 'jwt', audience, issuer });
  const sourceOf = () =>
    databaseSource({
      db: workspaces.service.db,
      keyring: workspaces.service.env.keyring,
      workerId: 'worker-1',
      leaseSeconds: 60,
      versions: [],
      secrets: secretsService(),
      issuer,
      now: Date.now,
      bell: new Bell(),
    });
  const revokeAll = () =>
    revokeLeft(
      { db: workspaces.service.db, keyring: workspaces.service.env.keyring, secrets: secretsService() },
      (error) => {
        throw error;
      },
    );

  beforeAll(async () => {
    const file = path.join(box, 'terraform');
    writeFileSync(file, standIn, { mode: 0o755 });
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    const { id } = await workspaces.workspace('acme', 'probe');
    const job = await claimed(id);
    executor = await makeExecutor('same-user', { file, version: job.infraVersion, product: 'Terraform' });
    await workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', { 'secrets-role': 'x' })).expect(200);
    await expect(credentialsFor(sourceOf(), log, job, new Concealer())).rejects.toThrow(
      'gave no credentials for role "x"',
    );
    await finishPlan(workspaces.service.db, workspaces.service.env.keyring, job, 'worker-1', {
      outcome: 'errored',
    });
    await secrets.root.write('sys/auth/jwt', { type: 'jwt' }).expect(204);
    await secrets.root
      .write('auth/jwt/config', {
        jwks_url: `http://127.0.0.1:${portOf(workspaces.server)}/.well-known/jwks`,
        bound_issuer: issuer,
      })
      .expect(204);
    await secrets.root
      .write('auth/jwt/role/deploy', {
        user_claim: 'workspace_id',
        bound_audiences: [audience],
        bound_claims: { workspace_name: 'web', organization_name: 'acme' },
        token_ttl: '10m',
      })
      .expect(204);
  });
  afterAll(() => {
    executor?.remove();
    rmSync(box, { recursive: true, force: true });
  });

  /** A plan of a workspace, held by worker-1. */
  async function claimed(workspaceId: string): Promise<RunJob> {
    const { id, attributes } = await announced(workspaces.admin, workspaceId);
    await putUrl(workspaces, attributes['upload-url'], await archiveOf()).expect(200);
    await startRun(workspaces.admin, workspaceId, {}, id).expect(201);
    const { db, env } = workspaces.service;
    const job = await claimJob(db, env.keyring, {
      workerId: 'worker-1',
      leaseSeconds: 60,
      versions: ['1.11.4'],
    });
    if (job?.workspaceId !== workspaceId) throw new Error('no job');
    return job;
  }

  async function carried(workspaceId: string) {
    const job = await claimed(workspaceId);
    const tokens: string[] = [];
    await carryOut(
      {
        source: sourceOf(),
        executor: { ...executor, workerId: 'worker-1' },
        log,
        heartbeatMs: 200,
        graceSeconds: 5,
        logBytes: 1_000_000,
        credentials: (about, concealer) =>
          credentialsFor(sourceOf(), log, about, {
            add(...secrets) {
              tokens.push(...secrets);
              concealer.add(...secrets);
            },
          }),
      },
      job,
    ).done;
    const run = (await workspaces.admin.get(`runs/${job.runId}?include=plan`).expect(200)).body;
    return { said: await logOf(workspaces, job), tokens, run };
  }

  it('gets a token that ends with the run and is never in its log', async () => {
    const { id } = await workspaces.workspace('acme', 'web', { 'secrets-role': 'deploy' });
    const { said, tokens, run } = await carried(id);
    expect(run.data.attributes.status).toBe('planned');
    expect(said).toContain(`token=*** same=yes at=${address()}`);
    expect(said).toContain('answered 204');
    expect(said).not.toContain(tokens[0]);
    await secrets.as(tokens[0]).read('auth/token/lookup-self').expect(403);
    expect(await workspaces.service.db.prisma.runCredential.count()).toBe(0);
  });

  it('gets nothing unless its workspace asks for it', async () => {
    const { id } = await workspaces.workspace('acme', 'plain');
    const { said, tokens, run } = await carried(id);
    expect([tokens, run.data.attributes.status]).toEqual([[], 'planned']);
    expect(said).toContain('token= ');
  });

  it('fails with the reason if the role is for other workspaces', async () => {
    const { id } = await workspaces.workspace('acme', 'elsewhere', { 'secrets-role': 'deploy' });
    const { said, run } = await carried(id);
    expect(run.data.attributes.status).toBe('errored');
    expect(said).toContain('claim "workspace_name" does not match any associated bound claim values');
  });

  it('uses the role of the project, unless the workspace has one or wants none', async () => {
    const project = (
      await workspaces.admin
        .post('organizations/acme/projects', resource('projects', { name: 'shop', 'secrets-role': 'shop' }))
        .expect(201)
    ).body.data;
    expect(project.attributes).toMatchObject({ 'secrets-role': 'shop', 'secrets-namespace': null });
    const place = { project: { data: { type: 'projects', id: project.id } } };
    const made = async (name: string, attributes: object) =>
      (
        await workspaces.admin
          .post('organizations/acme/workspaces', resource('workspaces', { name, ...attributes }, place))
          .expect(201)
      ).body.data.id;
    await secrets.root
      .write('auth/jwt/role/shop', { user_claim: 'sub', bound_subject: 'unknown', bound_audiences: [audience] })
      .expect(204);
    const inherited = await carried(await made('till', {}));
    expect(inherited.said).toContain('invalid subject (sub) claim');
    const none = await carried(await made('shelf', { 'secrets-role': '' }));
    expect(none.run.data.attributes.status).toBe('planned');
  });

  it('has a distinct identity for each workspace and phase', async () => {
    const { id } = await workspaces.workspace('acme', 'exact', { 'secrets-role': 'exact' });
    const { organizationId, projectId } = await workspaces.service.db.prisma.workspace.findUniqueOrThrow({
      where: { id },
    });
    await secrets.root
      .write('auth/jwt/role/exact', {
        user_claim: 'sub',
        bound_subject: `organization:${organizationId}:project:${projectId}:workspace:${id}:run_phase:plan`,
        bound_audiences: [audience],
      })
      .expect(204);
    expect((await carried(id)).run.data.attributes.status).toBe('planned');
  });

  it('loses its token when its worker dies', async () => {
    const { id } = await workspaces.workspace('acme', 'orphan', { 'secrets-role': 'deploy' });
    await workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', { name: 'web-2' })).expect(200);
    await secrets.root
      .write('auth/jwt/role/any', {
        user_claim: 'workspace_id',
        bound_claims: { organization_name: 'acme' },
        bound_audiences: [audience],
      })
      .expect(204);
    await workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', { 'secrets-role': 'any' })).expect(200);
    const job = await claimed(id);
    const given: string[] = [];
    const lost = await credentialsFor(sourceOf(), log, job, { add: (...secrets) => void given.push(...secrets) });
    expect(await revokeAll()).toBe(0);
    await secrets.as(given[0]).read('auth/token/lookup-self').expect(200);
    await workspaces.service.db.prisma.runJob.update({
      where: { id: job.id },
      data: { claimedUntil: new Date(Date.now() - 60_000) },
    });
    expect(await revokeAll()).toBe(1);
    await secrets.as(given[0]).read('auth/token/lookup-self').expect(403);
    await lost.end();
  });

  it('has an identity that is signed by published keys', async () => {
    const found = await workspaces.anyone.get('/.well-known/openid-configuration').expect(200);
    expect(found.body).toMatchObject({ issuer, jwks_uri: `${issuer}/.well-known/jwks` });
    const { keys } = (await workspaces.anyone.get('/.well-known/jwks').expect(200)).body;
    // The current key and the next one.
    const key = expect.objectContaining({ kty: 'RSA', alg: 'RS256', use: 'sig' });
    expect(keys).toEqual([key, key]);
    for (const one of keys) expect(one).not.toHaveProperty('d');
  });

  it('may have only names of roles and namespaces', async () => {
    const { id } = await workspaces.workspace('acme', 'names');
    for (const attributes of [{ 'secrets-role': 'a/../b' }, { 'secrets-namespace': 'a//b' }]) {
      const { body } = await workspaces.admin.patch(`workspaces/${id}`, resource('workspaces', attributes)).expect(422);
      expect(body.errors[0].source.pointer).toContain(Object.keys(attributes)[0]);
    }
  });
});
