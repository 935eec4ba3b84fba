import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer as createNet, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { findProgram, freePort, fromSource } from '@keystead/testing';
import { type Housekeeping, startHousekeeping } from '../../src/housekeeping';
import { hookSecretOf } from '../../src/resources/connections/repositories/repository';
import { resource, startWorkspaces, WORKER_TOKEN } from '../start-workspaces';
import { findTool, noTool } from '../worker-fixture';
import { type Clone, eventually, Gitea, giteaProgram, longestTestMs } from './gitea-stand';

jest.setTimeout(longestTestMs);
const it = noTool || !giteaProgram ? test.skip : test;
const opaProgram = process.env.KEYSTEAD_OPA ?? findProgram('opa');
const root = path.resolve(__dirname, '../../../..');
const firstUid = 80_000 + (process.pid % 400) * 100;
const main = (text: string): string => `output "said" {\n  value = "${text}"\n}\n`;

// Everything real: a Git host with its webhooks, the service, a worker process and the tool.
describe('runs that follow a repository', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'gitea-'));
  const gitea = new Gitea(box);
  const env: Record<string, string> = { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' };
  let port = 0;
  beforeAll(async () => {
    port = await freePort();
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
    if (giteaProgram) await gitea.start();
  });
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;
  let listening: ReturnType<typeof createServer>;
  let keeping: Housekeeping;
  let worker: ChildProcess;
  let said = '';
  let token = '';
  beforeAll(async () => {
    if (!giteaProgram || noTool) return;
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
    const { db, outage, clockTrouble } = workspaces.service;
    const { vcsReach, publicUrl, settings } = workspaces.service.env;
    const vcs = { reach: vcsReach!, publicUrl, settings, uploads: workspaces.service.env, pollSeconds: 3600 };
    const log = createLogger({ name: 'test', level: process.env.TEST_LOG ?? 'silent' });
    keeping = startHousekeeping(db, {
      ...workspaces.service.env,
      log,
      outage,
      clockTrouble,
      consoleIdleMinutes: 30,
      vcs,
    });
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    const { version } = await findTool();
    expect(version).toMatch(/^1\./);
    worker = spawn(process.execPath, [...fromSource, path.join(root, 'apps/workspaces/src/worker-main.ts')], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        AGENT_ADDRESS: env.WORKSPACES_PUBLIC_URL,
        AGENT_TOKEN: WORKER_TOKEN,
        WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
        WORKSPACES_WORKER_FIRST_UID: String(firstUid),
        WORKSPACES_WORKER_TRUST: 'same-user',
        WORKSPACES_WORKER_FETCH_SECONDS: '8',
        ...(opaProgram ? { WORKSPACES_WORKER_OPA: opaProgram } : {}),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [worker.stdout!, worker.stderr!]) stream.on('data', (bytes) => (said += bytes));
    await eventually('a worker', async () => said.includes('waiting for runs'));
    const made = await admin
      .post(
        'organizations/acme/oauth-clients',
        resource('oauth-clients', {
          'service-provider': 'gitea',
          'http-url': gitea.url,
          'api-url': `${gitea.url}/api/v1`,
          'oauth-token-string': gitea.secret,
        }),
      )
      .expect(201);
    token = made.body.data.relationships['oauth-tokens'].data[0].id;
  });
  afterAll(async () => {
    if (process.env.TEST_LOG) process.stderr.write(said);
    await keeping?.close();
    if (worker) {
      const gone = new Promise((resolve) => worker.once('exit', resolve));
      worker.kill('SIGTERM');
      await gone;
    }
    listening?.closeAllConnections();
    listening?.close();
    await gitea.stop();
    rmSync(box, { recursive: true, force: true });
  });

  const connected = async (name: string, clone: Clone, attributes: object = {}) => {
    const body = resource('workspaces', {
      name,
      'queue-all-runs': true,
      'vcs-repo': { identifier: clone.identifier, 'oauth-token-id': token },
      ...attributes,
    });
    return (await admin.post('organizations/acme/workspaces', body).expect(201)).body.data;
  };
  const runsOf = async (workspace: string) =>
    (await admin.get(`workspaces/${workspace}/runs?filter[operation]=plan_only,plan_and_apply`).expect(200)).body.data;
  const runWith = (workspace: string, message: string, statuses: readonly string[]) =>
    eventually(`a run of ${JSON.stringify(message)} that is ${statuses}`, async () =>
      (await runsOf(workspace)).find(
        ({ attributes }: { attributes: Record<string, string> }) =>
          attributes.message?.startsWith(message) && statuses.includes(attributes.status ?? ''),
      ),
    );
  const hooksOf = ({ identifier }: Clone) => gitea.call('GET', `repos/${identifier}/hooks`);
  const connectedHook = (clone: Clone) => eventually('a webhook', async () => (await hooksOf(clone)).length === 1);
  const statusOf = async (clone: Clone, commit: string) =>
    (await gitea.call('GET', `repos/${clone.identifier}/commits/${commit}/status`)).state;

  it('a push starts a run; a pull request is planned with status and comment, and its merge is applied', async () => {
    const clone = await gitea.repository('net');
    clone.write({ 'main.tf': main('one') });
    const first = await clone.push('Say one');
    const { id, attributes } = await connected('net', clone, { 'auto-apply': true });
    expect(attributes['vcs-repo']).toMatchObject({
      'display-identifier': clone.identifier,
      'repository-http-url': `${gitea.url}/${clone.identifier}`,
      'service-provider': 'gitea',
      'webhook-url': expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/webhooks\/vcs\/[0-9a-f-]{36}$/),
    });
    const run = await runWith(id, 'Say one', ['applied']);
    const configuration = run.relationships['configuration-version'].data.id;
    const ingress = (await admin.get(`configuration-versions/${configuration}/ingress-attributes`).expect(200)).body
      .data;
    expect(ingress.attributes).toMatchObject({ 'commit-sha': first, branch: 'main', 'is-pull-request': false });
    await eventually('a status', async () => (await statusOf(clone, first)) === 'success');

    await connectedHook(clone);
    clone.write({ 'main.tf': main('two') });
    const pushedAtMs = Date.now();
    await clone.push('Say two');
    await eventually('a run', async () => (await runsOf(id)).length === 2);
    const queuedMs = Date.now() - pushedAtMs;
    await runWith(id, 'Say two', ['applied']);
    process.stderr.write(`push to run: ${queuedMs} ms, to applied: ${Date.now() - pushedAtMs} ms\n`);

    await clone.git('checkout', '--quiet', '-b', 'three');
    clone.write({ 'main.tf': main('three') });
    const proposed = await clone.push('Say three', 'three');
    const pull = await gitea.call('POST', `repos/${clone.identifier}/pulls`, {
      title: 'Three',
      head: 'three',
      base: 'main',
    });
    const plan = await runWith(id, 'Say three', ['planned_and_finished']);
    expect(plan.attributes['plan-only']).toBe(true);
    await eventually('a status', async () => (await statusOf(clone, proposed)) === 'success');
    const comments = () => gitea.call('GET', `repos/${clone.identifier}/issues/${pull.number}/comments`);
    const [comment] = await eventually('a comment', async () => {
      const all = await comments();
      return all[0]?.body.includes('to change') && all;
    });
    expect(comment.body).toContain(plan.id);

    clone.write({ 'main.tf': main('four') });
    await clone.push('Say four', 'three');
    const next = await runWith(id, 'Say four', ['planned_and_finished']);
    await eventually('the comment', async () => (await comments())[0].body.includes(next.id));
    expect(await comments()).toHaveLength(1);

    await gitea.call('POST', `repos/${clone.identifier}/pulls/${pull.number}/merge`, { Do: 'merge' });
    const merged = await runWith(id, "Merge pull request 'Three'", ['applied']);
    expect(merged.attributes['plan-only']).toBe(false);
    expect(said).not.toContain(gitea.secret);
    expect(await runsOf(id)).toHaveLength(5);

    await admin.delete(`workspaces/${id}`).expect(204);
    await eventually('no webhook', async () => (await hooksOf(clone)).length === 0);
  });

  it('forged and foreign deliveries are refused; repeated and late ones change nothing', async () => {
    const clone = await gitea.repository('forged');
    clone.write({ 'main.tf': main('one') });
    const first = await clone.push('Say one');
    const { id, attributes } = await connected('forged', clone);
    await runWith(id, 'Say one', ['planned', 'planned_and_finished']);
    await connectedHook(clone);
    const url: string = attributes['vcs-repo']['webhook-url'];
    const row = await workspaces.service.db.prisma.vcsRepository.findUniqueOrThrow({
      where: { id: url.split('/').at(-1)! },
    });
    const secret = hookSecretOf(workspaces.service.env.keyring, row);
    const deliver = (body: object, key = secret, delivery = 'd-1') => {
      const text = JSON.stringify(body);
      const signature = createHmac('sha256', key).update(text).digest('hex');
      const headers = { 'x-gitea-event': 'push', 'x-gitea-delivery': delivery, 'x-gitea-signature': signature };
      return fetch(url, { method: 'POST', body: text, headers: { ...headers, 'content-type': 'application/json' } });
    };
    const push = {
      ref: 'refs/heads/main',
      before: first,
      after: 'f'.repeat(40),
      repository: { id: Number(row.remoteId) },
    };
    expect((await deliver(push, 'another secret')).status).toBe(403);
    expect((await deliver(push, '')).status).toBe(403);
    expect((await deliver({ ...push, repository: { id: 999_999 } })).status).toBe(403);
    clone.write({ 'main.tf': main('two') });
    await clone.push('Say two');
    await runWith(id, 'Say two', ['pending', 'planned', 'planned_and_finished']);
    const count = (await runsOf(id)).length;
    // The earlier push, reported again and under other names.
    for (const [index, after] of [first, first, 'f'.repeat(40)].entries()) {
      expect((await deliver({ ...push, after }, secret, `late-${index % 2}`)).status).toBe(202);
    }
    await eventually('nothing waiting', async () => {
      const where = { repositoryId: row.id, state: 'waiting' };
      return (await workspaces.service.db.prisma.vcsDelivery.count({ where })) === 0;
    });
    expect(await runsOf(id)).toHaveLength(count);
    // The service stops reading a delivery that is too large.
    const large = await deliver({ ...push, filler: 'x'.repeat(5 * 1024 * 1024) }).catch(() => ({ status: 413 }));
    expect(large.status).toBe(413);
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('a link that leads out of the tree, and a host that does not answer, end the configuration, and the commit gets a status', async () => {
    const clone = await gitea.repository('bad');
    clone.write({ 'main.tf': main('one') });
    symlinkSync('/etc/passwd', path.join(clone.folder, 'passwd.tf'));
    const commit = await clone.push('Lead out');
    const { id } = await connected('bad', clone);
    const errored = () =>
      eventually('an error', async () => {
        const { data } = (await admin.get(`workspaces/${id}/configuration-versions`).expect(200)).body;
        return data[0]?.attributes.status === 'errored' && data[0].attributes;
      });
    expect((await errored())['error-message']).toContain('a link to a path outside it');
    await eventually('a status', async () => ['error', 'failure'].includes(await statusOf(clone, commit)));
    expect(await runsOf(id)).toEqual([]);

    const silent: Server = createNet(() => undefined);
    const at = await freePort();
    await new Promise<void>((resolve) => silent.listen(at, '127.0.0.1', resolve));
    try {
      const { db } = workspaces.service;
      const made = await db.prisma.configurationVersion.findFirstOrThrow({ where: { workspaceId: id } });
      const createdAt = new Date(Date.now() - 7 * 3_600_000);
      await db.prisma.configurationVersion.update({ where: { id: made.id }, data: { status: 'fetching', createdAt } });
      await db.prisma.ingressAttributes.update({
        where: { configurationVersionId: made.id },
        data: { cloneUrl: `http://127.0.0.1:${at}/a/b.git`, fetchAt: new Date(0) },
      });
      expect((await errored())['error-message']).toContain('not there after 8 seconds');
    } finally {
      silent.close();
    }
    await admin.delete(`workspaces/${id}`).expect(204);
  });

  it('a person consents in the browser; the token is renewed, and workspaces keep following', async () => {
    const attributes = { 'service-provider': 'gitea', 'http-url': gitea.url, 'api-url': `${gitea.url}/api/v1` };
    const create = resource('oauth-clients', { ...attributes, key: 'later', secret: 'later' });
    const client = (await admin.post('organizations/acme/oauth-clients', create).expect(201)).body.data;
    const application = await gitea.application(client.attributes['callback-url']);
    await admin.patch(`oauth-clients/${client.id}`, resource('oauth-clients', application)).expect(200);
    const begun = await admin.post(`oauth-clients/${client.id}/authorizations`).expect(201);
    const back = await gitea.agree(begun.body.data.attributes['authorize-url']);
    expect(back.href.startsWith(client.attributes['callback-url'])).toBe(true);
    const { code, state } = Object.fromEntries(back.searchParams);
    const path = `oauth-clients/${client.id}/oauth-tokens`;
    const { data } = (await admin.post(path, resource('oauth-tokens', { code, state })).expect(201)).body;
    expect(data.attributes['service-provider-user']).toBe(gitea.user);
    await admin.post(path, resource('oauth-tokens', { code, state })).expect(422);

    const clone = await gitea.repository('agreed');
    clone.write({ 'main.tf': main('one') });
    await clone.push('Say one');
    const repo = { identifier: clone.identifier, 'oauth-token-id': data.id };
    const { id } = await connected('agreed', clone, { 'vcs-repo': repo });
    await runWith(id, 'Say one', ['planned', 'planned_and_finished']);
    await connectedHook(clone);
    const { db } = workspaces.service;
    const before = await db.prisma.oauthToken.findUniqueOrThrow({ where: { id: data.id } });
    expect(before.renewAt!.getTime()).toBeLessThan(before.expiresAt!.getTime());
    await db.prisma.oauthToken.update({ where: { id: data.id }, data: { renewAt: new Date(0) } });
    await eventually('another token', async () => {
      const after = await db.prisma.oauthToken.findUniqueOrThrow({ where: { id: data.id } });
      return Buffer.compare(after.value, before.value) !== 0 && after.renewProblem === null;
    });
    clone.write({ 'main.tf': main('two'), 'module ü/日本.tf': '' });
    const commit = await clone.push('Say two');
    await runWith(id, 'Say two', ['pending', 'planned', 'planned_and_finished']);
    await eventually('a status', async () => (await statusOf(clone, commit)) !== '');
    await admin.delete(`workspaces/${id}`).expect(204);
    await eventually('no webhook', async () => (await hooksOf(clone)).length === 0);
  });

  it('tags and commits that no webhook reported still start runs or are used by runs started by hand', async () => {
    const clone = await gitea.repository('tagged');
    clone.write({ 'main.tf': main('one') });
    await clone.push('Say one');
    await clone.git('tag', 'v0');
    await clone.git('push', '--quiet', 'origin', 'v0');
    const repo = { identifier: clone.identifier, 'oauth-token-id': token, 'tags-regex': '^v' };
    const { id } = await connected('tagged', clone, { 'vcs-repo': repo, 'file-triggers-enabled': false });
    const branch = await connected('tagless', clone, { 'queue-all-runs': false });
    await connectedHook(clone);
    const { db } = workspaces.service;
    await eventually('tags looked for', async () => (await db.prisma.vcsHead.count({ where: { ref: 'tags' } })) > 0);
    const [hook] = await hooksOf(clone);
    await gitea.call('PATCH', `repos/${clone.identifier}/hooks/${hook.id}`, { active: false });
    await clone.git('tag', '--annotate', '--message', 'One', 'v1');
    await clone.git('push', '--quiet', 'origin', 'v1');
    clone.write({ 'main.tf': main('two') });
    await clone.push('Say two');
    const body = resource('runs', {}, { workspace: { data: { type: 'workspaces', id: branch.id } } });
    const run = (await admin.post('runs', body).expect(201)).body.data;
    const ended = await eventually('a plan by hand', async () => {
      const { data } = (await admin.get(`runs/${run.id}?include=configuration_version`).expect(200)).body;
      return ['planned', 'planned_and_finished', 'errored'].includes(data.attributes.status) && data;
    });
    expect(ended.attributes.status).not.toBe('errored');
    const configuration = ended.relationships['configuration-version'].data.id;
    const ingress = await admin.get(`configuration-versions/${configuration}/ingress-attributes`).expect(200);
    expect(ingress.body.data.attributes['commit-message']).toContain('Say two');
    await db.prisma.vcsRepository.updateMany({ data: { nextAt: new Date(0) } });
    await eventually('a run of the tag', async () => (await runsOf(id)).length === 1);
    for (const one of [id, branch.id]) await admin.delete(`workspaces/${one}`).expect(204);
  });

  it('a module follows the tags of its repository, and shows its commits', async () => {
    const clone = await gitea.repository('terraform-crane-net');
    clone.write({ 'main.tf': 'variable "size" {}\noutput "size" { value = var.size }', 'README.md': '# Net' });
    await clone.push('Describe a net');
    const tag = async (name: string) => {
      await clone.git('tag', name);
      await clone.git('push', '--quiet', 'origin', name);
      return clone.git('rev-parse', 'HEAD');
    };
    const first = await tag('v1.0.0');
    await admin
      .post(
        'organizations/acme/registry-modules/vcs',
        resource('registry-modules', {
          'vcs-repo': {
            identifier: clone.identifier,
            'display-identifier': clone.identifier,
            'oauth-token-id': token,
          },
        }),
      )
      .expect(201);
    const at = 'organizations/acme/registry-modules/private/acme/net/crane';
    const version = (name: string) =>
      eventually(`version ${name}`, async () => {
        const { attributes } = (await admin.get(at).expect(200)).body.data;
        return attributes['version-statuses'].some(
          (one: Record<string, string>) => one.version === name && one.status === 'ok',
        );
      });
    await version('1.0.0');
    await connectedHook(clone);
    clone.write({ 'main.tf': 'variable "length" {}\noutput "length" { value = var.length }' });
    await clone.push('Rename its size');
    const second = await tag('v1.1.0');
    await version('1.1.0');
    for (const [name, commit] of [
      ['1.0.0', first],
      ['1.1.0', second],
    ]) {
      const signed = await admin
        .get(`/api/registry/v1/modules/acme/net/crane/${name}/provenance`)
        .buffer(true)
        .expect(200);
      const { payload } = Buffer.isBuffer(signed.body) ? JSON.parse(signed.body.toString()) : signed.body;
      expect(Buffer.from(payload, 'base64').toString()).toContain(commit);
    }
    await clone.git('push', '--quiet', '--delete', 'origin', 'v1.0.0');
    await admin.delete(at).expect(204);
    await eventually('no webhook', async () => (await hooksOf(clone)).length === 0);
  });

  (opaProgram ? it : test.skip)(
    'policies of a repository are evaluated for a pull request, which shows the outcome',
    async () => {
      const rules = await gitea.repository('rules');
      rules.write({
        'policies.hcl': 'policy "said" {\n  query = "data.said.deny"\n  enforcement_level = "mandatory"\n}\n',
        'said.rego':
          'package said\n\ndeny contains "says no" if {\n  input.plan.output_changes.said.after == "no"\n}\n',
      });
      await rules.push('Forbid no');
      const clone = await gitea.repository('judged');
      clone.write({ 'main.tf': main('yes') });
      await clone.push('Say yes');
      const { id } = await connected('judged', clone);
      await runWith(id, 'Say yes', ['policy_checked', 'post_plan_completed', 'planned', 'cost_estimated']);
      await connectedHook(clone);
      const body = resource(
        'policy-sets',
        { name: 'rules', kind: 'opa', 'vcs-repo': { identifier: rules.identifier, 'oauth-token-id': token } },
        { workspaces: { data: [{ type: 'workspaces', id }] } },
      );
      const set = (await admin.post('organizations/acme/policy-sets', body).expect(201)).body.data.id;
      const current = async () =>
        (await admin.get(`policy-sets/${set}`).expect(200)).body.data.relationships['current-version']?.data?.id;
      await eventually('a version of the set', current);
      await clone.git('checkout', '--quiet', '-b', 'no');
      clone.write({ 'main.tf': main('no') });
      const proposed = await clone.push('Say no', 'no');
      const pull = await gitea.call('POST', `repos/${clone.identifier}/pulls`, {
        title: 'No',
        head: 'no',
        base: 'main',
      });
      await runWith(id, 'Say no', ['planned_and_finished', 'errored', 'policy_soft_failed']);
      await eventually('a failed status', async () => (await statusOf(clone, proposed)) === 'failure');
      await eventually('the policy in the comment', async () =>
        (await gitea.call('GET', `repos/${clone.identifier}/issues/${pull.number}/comments`))[0]?.body.includes('said'),
      );

      const before = await current();
      rules.write({ 'said.rego': 'package said\n\ndeny contains "never" if {\n  false\n}\n' });
      await rules.push('Allow all');
      await eventually('the next version of the set', async () => (await current()) !== before);
      clone.write({ 'main.tf': main('no') });
      const again = await clone.push('Say no again', 'no');
      await runWith(id, 'Say no again', ['planned_and_finished']);
      await eventually('a status', async () => (await statusOf(clone, again)) === 'success');
      await admin.delete(`policy-sets/${set}`).expect(204);
    },
  );

  it('a missing repository, and one in a closed network, are refused', async () => {
    const create = (name: string, repo: object) =>
      admin.post('organizations/acme/workspaces', resource('workspaces', { name, 'vcs-repo': repo })).expect(422);
    const gone = await create('gone', { identifier: 'grace/nothing', 'oauth-token-id': token });
    expect(gone.body.errors[0].detail).toContain('was not found with the token');
    const made = await admin
      .post(
        'organizations/acme/oauth-clients',
        resource('oauth-clients', {
          'service-provider': 'gitea',
          'http-url': 'http://169.254.169.254',
          'api-url': 'http://169.254.169.254/latest',
          'oauth-token-string': 'none',
        }),
      )
      .expect(201);
    const closed = made.body.data.relationships['oauth-tokens'].data[0].id;
    const answer = await create('closed', { identifier: 'a/b', 'oauth-token-id': closed });
    expect(answer.body.errors[0].detail).toMatch(/may not be called|ECLOSEDADDRESS/);
  });
});
