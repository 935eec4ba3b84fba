import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IssuerKey, signRaw } from '../../apps/secrets/test/stand-ins/jwt';
import { codeFor, counterAt, fromBase32 } from '../../packages/auth/src/index';
import { applyMigrations } from '../../packages/postgres/src/index';
import { emptyDatabase, type TestDatabase } from '../../packages/testing/src/index';
import { type Answer, ask, insist } from './ask';
import { aging, differences } from './differences';
import { Installation } from './installation';
import { below, kept } from './make-secrets';
import { codeOf, document, reaches, stateOf, workspacesMaker } from './make-workspaces';
import { askAs, askers, lacking, linksIn, type Question } from './questions';
import { readRelease, recordedVersions } from './release';
import { asOf, readTables, type Tables, writeTables } from './tables';

// User data must survive an upgrade. Each released version was recorded with an object of every kind, and its answers;
// this version must accept its tables and give the same answers.

const root = path.resolve(__dirname, '../..');
type Name = 'secrets' | 'workspaces';
const names: readonly Name[] = ['secrets', 'workspaces'];

type Caller = [string, string];

describe('a released version', () => {
  it('is recorded before it is released', () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    const log = path.join(root, 'CHANGELOG.md');
    const told = existsSync(log) ? [...readFileSync(log, 'utf8').matchAll(/^##\s+v?\[?(\d+\.\d+\.\d+)/gm)] : [];
    expect(recordedVersions()).toEqual(expect.arrayContaining([version, ...told.map(([, one]) => one)]));
  });
});

// All versions in the long form.
const versions = process.env.KEYSTEAD_LONG === '1' ? recordedVersions() : recordedVersions().slice(-1);

describe.each(versions)('the data of version %s', (version) => {
  const release = readRelease(version);
  const { credentials } = release;
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-upgrade-'));
  const databases = {} as Record<Name, TestDatabase>;
  let installation: Installation;

  beforeAll(async () => {
    for (const name of names) {
      databases[name] = await emptyDatabase();
      const { url } = databases[name];
      await applyMigrations({ url, dir: migrationsOf(name, release.databases[name]) });
      await writeTables(url, asOf(Date.now(), Date.parse(release.recordedAt), release.databases[name]));
    }
    const urls = { secrets: databases.secrets.url, workspaces: databases.workspaces.url };
    installation = await Installation.start({ root, built: false }, urls, release.settings);
  });
  afterAll(async () => {
    await installation?.stop();
    for (const database of Object.values(databases)) await database.drop();
    rmSync(box, { recursive: true, force: true });
  });

  /** The migrations of a recording, as they are in this version. */
  function migrationsOf(name: Name, { migrations }: Tables): string {
    const dir = path.join(box, name);
    for (const one of migrations) {
      cpSync(path.join(root, 'prisma', name, 'migrations', one.name), path.join(dir, one.name), { recursive: true });
    }
    return dir;
  }

  const asRoot = (method: string, at: string, body?: object, headers: Record<string, string> = {}) =>
    insist(installation.secrets.address, {
      method,
      path: `/v1/${at}`,
      body,
      headers: { 'X-Service-Token': credentials.secrets.root, ...headers },
    });
  const asAdmin = (method: string, at: string, body?: object) =>
    workspacesMaker(installation.workspaces.address, credentials.workspaces.admin.token)(method, at, body);

  it.each(names)('comes from migrations of %s that were not edited since', async (name) => {
    const { migrations } = await readTables(databases[name].url);
    expect(migrations).toEqual(expect.arrayContaining([...release.databases[name].migrations]));
    expect(migrations.length).toBeGreaterThanOrEqual(release.databases[name].migrations.length);
  });

  it('gets the same answers as from that version, for all callers', async () => {
    expect(release.questions.length).toBeGreaterThan(100);
    const wrong: string[] = [];
    const used = new Set<RegExp>();
    const note = (line: string) => {
      const known = differences.find(({ of, where }) => of === version && where.test(line));
      if (known) used.add(known.where);
      else if (!aging.some((where) => where.test(line))) wrong.push(line);
    };
    const judge = async (question: Question): Promise<void> => {
      const [[owner, own], ...others] = Object.entries(askers(question.service, credentials)) as [Caller, ...Caller[]];
      const { status, body } = await answerTo(question, own);
      for (const one of lacking(question.body, body)) note(`${nameOf(question)} ${one}`);
      const statuses: Record<string, number> = { [question.link === undefined ? owner : 'nobody']: status };
      for (const [who, token] of question.link === undefined ? others : []) {
        statuses[who] = (await askAs(installation, question, token)).status;
      }
      for (const [who, recorded] of Object.entries(question.statuses)) {
        if (statuses[who] !== recorded) note(`${nameOf(question)} as ${who}: ${recorded} is ${statuses[who]}`);
      }
    };
    // A read may write something due, such as a rotated key, and a refusal is an event: records are read before
    // everything else.
    const tellsOfWrites = ({ path: at }: Question) => /^\/v1\/sys\/audit-chain|\/audit-events/.test(at);
    for (const one of release.questions.filter(tellsOfWrites)) await judge(one);
    const waiting = release.questions.filter((one) => !tellsOfWrites(one));
    const some = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await judge(next);
    };
    await Promise.all(Array.from({ length: 8 }, some));
    expect(wrong).toEqual([]);
    const unused = differences.filter(({ of, where }) => of === version && !used.has(where));
    expect(unused).toEqual([]);
  });

  /** The current answer; for an answer behind a link, the answer behind the current link. */
  async function answerTo(question: Question, token: string | undefined): Promise<Answer> {
    const said = await askAs(installation, question, token);
    if (question.link === undefined) return said;
    const [, led] = linksIn(said.body).find(([way]) => way === question.link) ?? [];
    return led === undefined
      ? { status: 0, body: undefined }
      : askAs(installation, { ...question, path: led }, undefined);
  }

  it('lets all callers log in to the secrets service as before', async () => {
    const { address } = installation.secrets;
    const { secrets } = credentials;
    const login = (at: string, body: object, headers = {}) =>
      insist(address, { method: 'POST', path: `/v1/auth/${at}`, body, headers });
    const { password, totp } = secrets;
    const asked = await login(`${kept}/login/${kept}`, { password });
    const { mfa_request_id: id } = asked.auth.mfa_requirement;
    const body = { mfa_request_id: id, mfa_payload: { [totp.methodId]: [codeOfUrl(totp.url)] } };
    const person = await insist(address, { method: 'POST', path: '/v1/sys/mfa/validate', body });
    expect(person.auth.policies).toContain(kept);
    const spare = { 'X-Service-MFA': `${totp.methodId}:${totp.recoveryCode}` };
    expect((await login(`${kept}/login/${kept}`, { password }, spare)).auth.client_token).toBeTruthy();
    const machine = await login(`${kept}-approle/login`, { role_id: secrets.roleId, secret_id: secrets.secretId });
    expect(machine.auth.policies).toContain(kept);
    const privateKey = createPrivateKey(secrets.issuerKey);
    const key: IssuerKey = { kid: '', algorithm: 'ES256', privateKey, publicKey: createPublicKey(privateKey) };
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: kept, aud: kept, iss: 'https://kept.test', iat: now, exp: now + 600, teams: [kept] };
    const jwt = signRaw({ alg: 'ES256', typ: 'JWT' }, claims, key);
    expect((await login(`${kept}-jwt/login`, { role: kept, jwt })).auth.policies).toContain(kept);
  });

  it('stays usable in the secrets service: tokens, wrapped values, leases, shares, and writes', async () => {
    const { address } = installation.secrets;
    const { secrets } = credentials;
    const as = (token: string, method: string, at: string, body?: object, namespace = '') =>
      insist(address, {
        method,
        path: `/v1/${at}`,
        body,
        headers: { 'X-Service-Token': token, 'X-Service-Namespace': namespace },
      });
    await as(secrets.tokens.periodic, 'POST', 'auth/token/renew-self', {});
    await as(secrets.tokens.person, 'POST', 'cubbyhole/own', { a: 1 });
    await as(secrets.tokens.child, 'POST', 'cubbyhole/own', { a: 1 }, below);
    const wrapped = await as(secrets.wrapping, 'POST', 'sys/wrapping/unwrap');
    expect(wrapped.data).toEqual({ of: kept });
    expect((await asRoot('POST', 'sys/leases/lookup', { lease_id: secrets.leaseId })).data.id).toBe(secrets.leaseId);
    const written = await asRoot('POST', `${kept}/data/${kept}`, { data: { n: 4 } });
    expect(written.data.version).toBe(4);
    expect((await asRoot('GET', `${kept}/data/${kept}?version=3`)).data.data.n).toBe(3);
    await asRoot('POST', `identity/entity/name/${kept}`, { metadata: { of: 'now' } });
    await asRoot('POST', 'sys/rotate');
    await asRoot('DELETE', 'sys/rekey-recovery-key/init');
    const attempt = await insist(address, { method: 'POST', path: '/v1/sys/generate-root/attempt', body: {} });
    const shares = secrets.recoveryKeys.slice(0, attempt.required);
    let last: Answer['body'];
    for (const share of shares) {
      const body = { key: share, nonce: attempt.nonce };
      last = await insist(address, { method: 'POST', path: '/v1/sys/generate-root/update', body });
    }
    expect(last.complete).toBe(true);
    const health = await ask(address, { method: 'GET', path: '/readyz' });
    expect(health.status).toBe(200);
  });

  it('lets all callers log in to the workspace service as before', async () => {
    const anonymous = workspacesMaker(installation.workspaces.address);
    const { admin, person, invitation } = credentials.workspaces;
    const { username, password } = admin;
    const signedIn = await anonymous('POST', 'session', document('sessions', { username, password }));
    expect(signedIn.data.attributes.token).toBeTruthy();
    const code = codeOf(person.twoFactorSecret);
    const given = { username: person.username, password: person.password, code };
    expect((await anonymous('POST', 'session', document('sessions', given))).data.attributes.token).toBeTruthy();
    const chosen = document('one-time-links', { username: 'invited', password: person.password });
    await anonymous('POST', invitation, chosen);
    const session = document('sessions', { username: 'invited', password: person.password });
    expect((await anonymous('POST', 'session', session)).data.attributes.token).toBeTruthy();
  });

  it('stays usable in the workspace service: workspaces, states, variables, and a waiting plan', async () => {
    const { planned, tokens } = credentials.workspaces;
    const under = `organizations/${kept}`;
    const team = workspacesMaker(installation.workspaces.address, tokens.team);
    const made = await team('POST', `${under}/workspaces`, document('workspaces', { name: 'new' }));
    await asAdmin('PATCH', `workspaces/${made.data.id}`, document('workspaces', { description: 'new' }));
    const local = (await asAdmin('GET', `${under}/workspaces/${kept}-local`)).data;
    expect(local.attributes.locked).toBe(true);
    const bytes = stateOf(3);
    const md5 = createHash('md5').update(bytes).digest('hex');
    const state = { serial: 3, md5, lineage: kept, state: bytes.toString('base64') };
    await asAdmin('POST', `workspaces/${local.id}/state-versions`, document('state-versions', state));
    await asAdmin('POST', `workspaces/${local.id}/actions/unlock`, {});
    await installation.startWorker(box);
    await asAdmin('POST', `runs/${planned.runId}/actions/apply`, {});
    await reaches(async () => (await asAdmin('GET', `runs/${planned.runId}`)).data.attributes.status, 'applied');
    const current = await asAdmin('GET', `workspaces/${planned.workspaceId}/current-state-version`);
    const [, link] = linksIn(current).find(([way]) => way.endsWith('hosted-state-download-url')) ?? [];
    const found = await ask(installation.workspaces.address, { method: 'GET', path: link! });
    // The stand-in of the tool wrote the sensitive variable that only a worker can read.
    expect(found.body.outputs.seen.value).toBe(planned.secret);
  });
});

const nameOf = ({ service, namespace, path: at, link }: Question) =>
  `${service}${namespace ? ` in ${namespace}` : ''} ${at}${link === undefined ? '' : ` → ${link}`}`;

/** A code of an authenticator with this address. */
function codeOfUrl(url: string): string {
  const { searchParams: query } = new URL(url);
  const periodSeconds = Number(query.get('period'));
  const scheme = {
    key: fromBase32(query.get('secret')!),
    algorithm: query.get('algorithm') as 'SHA1',
    digits: Number(query.get('digits')) as 6,
    periodSeconds,
  };
  return codeFor(scheme, counterAt(Date.now(), periodSeconds));
}
