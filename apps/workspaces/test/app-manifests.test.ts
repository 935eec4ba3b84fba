import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { lookForInstallations } from '../src/resources/connections/oauth/installations';
import { allRows } from './database-rows';
import { FakeGithub } from './fake-github';
import { ref, resource, startWorkspaces } from './start-workspaces';

describe('a GitHub App that the host creates from a manifest', () => {
  const host = new FakeGithub();
  const output: string[] = [];
  let now = Date.now();
  const workspaces = startWorkspaces({
    env: { WORKSPACES_VCS: 'on', WORKSPACES_VCS_NETWORKS: '127.0.0.1/32' },
    now: () => now,
    log: { write: (line) => void output.push(line) },
  });
  const { admin } = workspaces;
  beforeAll(async () => {
    await host.start();
    await workspaces.organization('acme');
    await workspaces.organization('other');
  });
  afterAll(() => host.stop());

  const begin = (more: object = {}, organization = 'acme', relationships?: object) =>
    admin.post(
      `organizations/${organization}/github-app-manifests`,
      resource(
        'github-app-manifests',
        { 'http-url': host.origin, 'api-url': `${host.origin}/api/v3`, ...more },
        relationships,
      ),
    );
  const unescaped = (text = '') => text.replace(/&#(\d+);/g, (_, sign) => String.fromCharCode(Number(sign)));
  const open = async (id: string) => {
    const answer = await request(workspaces.server).get(`/github-app/${id}`).expect(200);
    const action = unescaped(/action="([^"]*)"/.exec(answer.text)?.[1]);
    const manifest = JSON.parse(unescaped(/name="manifest" value="([^"]*)"/.exec(answer.text)?.[1]));
    return { answer, action: new URL(action), manifest, state: new URL(action).searchParams.get('state')! };
  };
  /** A person at the page of the host: returns the code of the redirect back. */
  const agree = () => {
    const code = `code-${host.codes.size}-${host.calls.length}`;
    host.codes.add(code);
    return code;
  };
  const end = (id: string, code: string, state: string, by = admin) =>
    by.post(`github-app-manifests/${id}/oauth-clients`, resource('oauth-clients', { code, state }));
  const begun = async (more: object = {}) => {
    const { id } = (await begin(more).expect(201)).body.data;
    return { id: id as string, ...(await open(id)) };
  };
  const conversions = () => host.calls.filter((call) => call.includes('conversions')).length;

  it('sends the request to the host, and returns to a connection that has its key', async () => {
    const { body } = await begin({ name: 'Ours', account: 'team', 'organization-scoped': false }).expect(201);
    const { id, attributes } = body.data;
    expect(new URL(attributes['page-url']).pathname).toBe(`/github-app/${id}`);
    const { answer, action, manifest, state } = await open(id);
    expect(action.origin + action.pathname).toBe(`${host.origin}/organizations/team/settings/apps/new`);
    expect(answer.headers['content-security-policy']).toContain(`form-action ${host.origin};`);
    expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(manifest).toMatchObject({
      name: 'Keystead acme',
      public: false,
      redirect_url: expect.stringMatching(new RegExp(`/github-app/${id}/callback$`)),
      default_permissions: { contents: 'read', metadata: 'read', statuses: 'write', pull_requests: 'write' },
      default_events: ['push', 'pull_request'],
    });
    const code = agree();
    const back = await request(workspaces.server)
      .get(new URL(manifest.redirect_url).pathname)
      .query({ code, state })
      .expect(302);
    const [page, mark = ''] = back.headers.location!.split('#');
    expect(page).toBe('/ui/organizations/acme/version-control');
    expect(Object.fromEntries(new URLSearchParams(mark))).toEqual({ app: id, code, state });
    const made = (await end(id, code, state).expect(201)).body.data;
    expect(manifest.hook_attributes).toEqual({ url: made.attributes['webhook-url'], active: true });
    expect(made.attributes).toMatchObject({
      name: 'Ours',
      'service-provider': 'github_app',
      key: host.appId,
      secret: null,
      'organization-scoped': false,
    });
    // Key and webhook secret belong to the app.
    const { db, env } = workspaces.service;
    await lookForInstallations({ db, keyring: env.keyring, reach: env.vcsReach! }, () => Date.now());
    const installed = (await admin.get('github-app/installations').expect(200)).body.data;
    expect(installed.map((one: { attributes: { name: string } }) => one.attributes.name)).toEqual(['team']);
    const { headers, text } = host.delivery('installation', { action: 'created' });
    const hook = new URL(manifest.hook_attributes.url).pathname;
    await request(workspaces.server).post(hook).set(headers).send(text).expect(202);
    // State, page and code are each valid once.
    await request(workspaces.server).get(`/github-app/${id}`).expect(404);
    await request(workspaces.server).get(`/github-app/${id}/callback`).query({ code, state }).expect(404);
    await end(id, agree(), state).expect(404);
  });

  it('accepts only its own state, from the person who began its creation, once and within the hour', async () => {
    const person = await workspaces.person('eve');
    const [one, other] = [await begun(), await begun()];
    const before = conversions();
    const code = agree();
    for (const state of [other.state, `${one.state}x`, 'guessed'])
      expect((await end(one.id, code, state).expect(422)).body.errors[0].source.pointer).toBe('/data/attributes/state');
    await end('gham-1234567812345678', code, one.state).expect(404);
    await end(one.id, code, one.state, person).expect(404);
    // Another token of the same person did not begin the creation.
    const token = await admin.post(
      'account/authentication-tokens',
      resource('authentication-tokens', { description: 'b' }),
    );
    if (token.status === 201) {
      const again = workspaces.as(token.body.data.attributes.token);
      await end(one.id, code, one.state, again).expect(422);
    }
    expect(conversions()).toBe(before);
    const answers = await Promise.all([end(one.id, code, one.state), end(one.id, code, one.state)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(201);
    expect(statuses.filter((status) => ![201, 404, 422].includes(status))).toEqual([]);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(conversions()).toBe(before + 1);
    now += 3_600_001;
    await end(other.id, agree(), other.state).expect(422);
    const late = (await begin().expect(201)).body.data.id;
    now += 3_600_001;
    await request(workspaces.server).get(`/github-app/${late}`).expect(404);
  });

  it('begins on a page that is shown for two minutes, and can be shown several times', async () => {
    const { id } = (await begin().expect(201)).body.data;
    const page = () => request(workspaces.server).get(`/github-app/${id}`);
    await request(workspaces.server).head(`/github-app/${id}`).expect(200);
    const [one, two] = [await page().expect(200), await page().expect(200)];
    expect(one.text).toBe(two.text);
    now += 120_001;
    await page().expect(404);
    await request(workspaces.server).get('/github-app/gham-1234567812345678').expect(404);
    await request(workspaces.server).get('/github-app/gham-1234567812345678/callback?code=a&state=b').expect(404);
  });

  it.each([
    ['an invalid account', { account: 'team/../x' }, '/data/attributes/account'],
    ['an account with a special character', { account: 'team"><script>' }, '/data/attributes/account'],
    ['an invalid host', { 'http-url': 'javascript:alert(1)' }, '/data/attributes/http-url'],
    ['an invalid API URL', { 'api-url': 'ftp://127.0.0.1' }, '/data/attributes/api-url'],
  ])('is not started with %s', async (_, more, pointer) => {
    const { body } = await begin(more).expect(422);
    expect(body.errors[0].source.pointer).toBe(pointer);
  });

  it('is requested only through a pool of the same organization', async () => {
    const made = await admin.post('organizations/other/agent-pools', resource('agent-pools', { name: 'theirs' }));
    const pool = { 'agent-pool': ref('agent-pools', made.body.data.id) };
    await begin({}, 'acme', pool).expect(422);
    const { id } = (await begin({}, 'other', pool).expect(201)).body.data;
    const { state } = await open(id);
    const before = conversions();
    // Without an agent, the service must not send the code itself.
    const { body } = await end(id, agree(), state).expect(422);
    expect(body.errors[0].detail).toContain('no agent of the connection’s pool');
    expect(conversions()).toBe(before);
  });

  it('is not created if the host refuses, lies, or is down; and nothing is stored', async () => {
    const list = async () => (await admin.get('organizations/acme/oauth-clients').expect(200)).body.data.length;
    const before = await list();
    const refusal = async (code: string) => {
      const { id, state } = await begun();
      return (await end(id, code, state).expect(422)).body.errors[0].detail as string;
    };
    expect(await refusal('unknown')).toContain('404');
    expect(await refusal('../../user')).toContain('404');
    const whole = { id: 1, pem: host.privateKey, webhook_secret: 'text' };
    for (const lie of [
      {},
      [],
      { ...whole, id: 'x/y' },
      { ...whole, pem: 'no key' },
      { ...whole, webhook_secret: null },
    ]) {
      host.made = lie;
      expect(await refusal(agree())).toContain('did not answer with an app');
    }
    host.made = undefined;
    host.away = true;
    expect(await refusal(agree())).toContain('500');
    host.away = false;
    expect(await list()).toBe(before);
  });

  it('leaves neither code nor key nor secret readable', async () => {
    const { id, state } = await begun();
    const stored = JSON.stringify(await allRows(workspaces.databaseUrl));
    expect(stored).toContain(id);
    const code = agree();
    await request(workspaces.server).get(`/github-app/${id}/callback`).query({ code, state }).expect(302);
    await end(id, code, state).expect(201);
    const after = JSON.stringify(await allRows(workspaces.databaseUrl));
    for (const canary of [state, code, 'canary-webhook', 'PRIVATE KEY']) {
      expect(stored).not.toContain(canary);
      expect(after).not.toContain(canary);
      expect(output.join('\n')).not.toContain(canary);
    }
  });
});
