import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import pg from 'pg';
import { type PasswordHash, Passwords } from '../src/backends/userpass/password';
import { isReading } from '../src/sdk/call';
import { type Ask, absent, asker, type Furnished, furnish, type Said, type Sql } from './namespace-sweep';
import { nobodys, owned, snapshot } from './namespace-sweep-rows';
import { pathOf, slotsOf, type Visit, visitsOf } from './namespace-sweep-slots';
import { DirectoryStandIn } from './stand-ins/ldap';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

// Two sibling namespaces, and their parent. Every declared operation is called in one of them with the names of all
// objects of the others: the answer must equal that for a missing object, byte for byte except for parts that always
// differ, and nothing of the others may be shown or changed. New endpoints are included automatically.
describe('every operation, asked for objects of another namespace', () => {
  const secrets = startSecrets({ clock: manualClock(Date.UTC(2027, 0, 1)), env: { SECRETS_DEFAULT_MOUNTS: 'none' } });
  const scheduler = new SchedulerStandIn();
  let client: pg.Client;
  let ask: Ask & { close(): void };
  const directory = new DirectoryStandIn();
  let root: Furnished;
  let one: Furnished;
  let two: Furnished;
  const sql: Sql = async (text, values) => (await client.query(text, values as unknown[])).rows as never;

  beforeAll(async () => {
    // There are thousands of logins and users, so passwords are hashed cheaply.
    const cheap = (password: string) => ({ hash: password }) as PasswordHash;
    jest.spyOn(Passwords.prototype, 'hash').mockImplementation(async (password) => cheap(password));
    jest
      .spyOn(Passwords.prototype, 'matches')
      .mockImplementation(async (password, stored) => stored?.hash === password);
    await scheduler.start();
    await directory.start();
    client = new pg.Client(secrets.database.url);
    client.on('error', () => {});
    await client.connect();
    ask = asker(secrets);
    for (const path of ['one', 'two']) await secrets.root.write(`sys/namespaces/${path}`).expect(200);
    const parts = { ask, sql, scheduler, directory };
    root = await furnish(parts, '', 'root');
    one = await furnish(parts, 'one', 'one');
    two = await furnish(parts, 'two', 'two');
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    ask.close();
    await client.end();
    await scheduler.stop();
    await directory.stop();
  });

  /** Intended access to other namespaces: from where, to which objects, in which operation, and why. */
  const meant: readonly { caller: string; of: string; kinds: readonly string[]; at: RegExp; why: string }[] = [
    {
      caller: 'one',
      of: 'root',
      kinds: ['method', 'name'],
      at: /mfa\/(method|login-enforcement)/,
      why: 'methods of second factors are seen from the namespaces below',
    },
    {
      caller: 'one',
      of: 'root',
      kinds: ['entity', 'group', 'external group'],
      at: /identity\/group.*member_(entity|group)_ids/,
      why: 'people of a namespace can be members of groups below it',
    },
    {
      caller: 'one',
      of: 'root',
      kinds: ['wrapping token'],
      at: /sys\/wrapping\//,
      why: 'a wrapping token is used as every token is, in its own namespace and below',
    },
    {
      caller: 'root',
      of: 'one',
      kinds: ['token', 'batch token', 'accessor', 'wrapping token', 'wrapping accessor'],
      at: /auth\/token\/|sys\/(capabilities|policies\/explain|internal\/ui\/resultant-acl|wrapping)/,
      why: 'tokens are found from above',
    },
    {
      caller: 'root',
      of: 'one',
      kinds: ['auth mount accessor'],
      at: /login-enforcement.*auth_method_accessors/,
      why: 'enforcements hold for the mounts of namespaces below',
    },
    {
      caller: 'root',
      of: 'one',
      kinds: ['namespace'],
      at: /(list|scan|read) sys\/namespaces/,
      why: 'a namespace is listed by the one above',
    },
    {
      caller: 'root',
      of: 'one',
      kinds: ['namespace'],
      at: /write sys\/namespaces\/api-lock\//,
      why: 'a namespace is locked and unlocked by the one above',
    },
  ];
  const isMeant = (caller: Furnished, of: Furnished, kind: string, at: string) =>
    meant.some(
      (one) => one.caller === caller.label && one.of === of.label && one.kinds.includes(kind) && one.at.test(at),
    );

  it('has a rule about the owner of the rows for every table', async () => {
    const tables = await sql<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    const ruled = new Set([...Object.keys(owned), ...nobodys]);
    expect(tables.map(({ name }) => name).filter((name) => !ruled.has(name))).toEqual([]);
  });

  it.each([
    ['a namespace', 'its parent and its sibling', () => [one, [root, two]] as const],
    ['the namespace above', 'its child', () => [root, [one]] as const],
  ])('from %s answers as if %s did not exist, and changes nothing there', async (_caller, _of, parties) => {
    const [caller, others] = parties();
    const problems: string[] = [];
    const visits = visitsOf(secrets.service.kernel.mounts.list(caller.uuid));
    expect(visits.length).toBeGreaterThan(200);
    let token = '';
    const say = (visit: Visit, path: string, fields: Record<string, unknown> = {}) =>
      ask(caller.path, visit.verb, path, fields, { token });
    const authenticate = async () => {
      const self = await ask(caller.path, 'read', 'auth/token/lookup-self', {}, { token });
      if (self.status !== 200) token = await administrator(ask, caller);
    };

    // Operations that list objects come first, before objects here have the names of objects there.
    await authenticate();
    for (const visit of visits.filter(({ verb }) => isReading(verb))) {
      const { body } = await say(visit, pathOf(visit, caller));
      for (const other of others) {
        const shown = other.things.filter(
          ({ kind, value }) => body.includes(value) && !isMeant(caller, other, kind, visit.name),
        );
        if (shown.length > 0)
          problems.push(`${visit.name} shows ${shown.map(({ kind }) => kind)} of ${other.label}: ${body}`);
      }
    }

    const before = await Promise.all(others.map((other) => snapshot(sql, other)));
    for (const visit of visits) {
      await authenticate();
      for (const { slot, fill, takes } of slotsOf(visit, caller)) {
        const about = async (value: string): Promise<Said> => {
          const { path, fields } = fill(value);
          const { status, body } = await say(visit, path, fields);
          // Calls to an outside system may fail in several ways, none of which depends on the owner of the name.
          return { status, body: status === 502 ? '' : plain(body, value) };
        };
        const tried = others.flatMap((other) =>
          other.things
            .filter((thing) => takes(thing) && !isMeant(caller, other, thing.kind, `${visit.name} ${slot}`))
            .map((thing) => ({ other, thing, said: undefined as Said | undefined })),
        );
        for (const one of tried) one.said = await about(one.thing.value);
        // Missing names come last, so that an object that an operation creates has the name of a missing one.
        const nothing = new Map<string, Said>();
        for (const text of new Set(tried.flatMap(({ thing }) => absent(thing)))) nothing.set(text, await about(text));
        for (const { other, thing, said } of tried) {
          const [a, b] = absent(thing).map((text) => nothing.get(text)!) as [Said, Said];
          const problem = differs(said!, a, b);
          if (problem) problems.push(`${visit.name} ${slot} = ${thing.kind} of ${other.label}: ${problem}`);
        }
      }
      if (isReading(visit.verb)) continue;
      for (const [i, other] of others.entries()) {
        const after = await snapshot(sql, other);
        const changed = Object.keys(after).filter((table) => after[table] !== before[i]![table]);
        if (changed.length > 0) problems.push(`${visit.name} changed ${changed.join(', ')} of ${other.label}`);
        before[i] = after;
      }
    }
    expect(problems).toEqual([]);
  });
});

/** A caller with all rights in a namespace that has no root policy. */
async function administrator(ask: Ask, { path }: Furnished): Promise<string> {
  const policy = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "patch", "sudo"] }';
  await ask(path, 'write', 'sys/policies/acl/boss', { policy });
  const made = await ask(path, 'write', 'auth/token/create', {
    policies: ['boss'],
    no_default_policy: true,
    ttl: '10h',
  });
  return JSON.parse(made.body).auth.client_token;
}

/** An answer without the parts that always differ. */
function plain(body: string, value: string): string {
  const forms = [value, JSON.stringify(value).slice(1, -1), value.toLowerCase(), encodeURIComponent(value)];
  return forms
    .reduce((text, form) => text.replaceAll(form, '‹it›'), body)
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '‹uuid›')
    .replace(/\b[sb]\.[\w-]{20,}(\.\w{6})?/g, '‹token›')
    .replace(/\b[0-9A-Za-z]{24}(\.\w{6})?\b/g, '‹id›')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '‹time›')
    .replace(/_[0-9a-f]{8}\b/g, '‹hex›')
    .replace(/\b\d{9,}\b/g, '‹number›');
}

/**
 * Whether an answer differs from two answers for missing objects; if these differ from each other, only the status is
 * compared.
 */
function differs(said: Said, a: Said, b: Said): string | undefined {
  const steady = a.status === b.status && a.body === b.body;
  const same = steady ? said.status === a.status && said.body === a.body : [a.status, b.status].includes(said.status);
  return same ? undefined : `${said.status} ${said.body.slice(0, 300)} instead of ${a.status} ${a.body.slice(0, 300)}`;
}
