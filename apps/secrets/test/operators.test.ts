import { mkdtempSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { ChangeNotices } from '../src/kernel/storage/types';
import { Monitors } from '../src/service/monitors';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

const auditFile = join(mkdtempSync(join(tmpdir(), 'keystead-operators-')), 'audit.log');
const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: auditFile } });
const audited = (text: string): boolean => readFileSync(auditFile, 'utf8').includes(text);

describe('the settings for all rate limits', () => {
  const usual = [
    'sys/generate-root/attempt',
    'sys/generate-root/update',
    'sys/health',
    'sys/seal',
    'sys/seal-status',
    'sys/unseal',
  ];

  it('are shown, replaced as a whole, and refused if meaningless', async () => {
    const read = async () => (await secrets.root.read('sys/quotas/config').expect(200)).body.data;
    const before = {
      enable_rate_limit_audit_logging: true,
      enable_rate_limit_response_headers: false,
      rate_limit_exempt_paths: usual,
    };
    expect(await read()).toEqual(before);
    const other = { rate_limit_exempt_paths: ['kv/open/*'], enable_rate_limit_response_headers: true };
    await secrets.root.write('sys/quotas/config', other).expect(204);
    expect(await read()).toEqual({ ...other, enable_rate_limit_audit_logging: true });
    for (const bad of ['/kv', 'a//b', 'a/../b', 'a\nb']) {
      const { body } = await secrets.root.write('sys/quotas/config', { rate_limit_exempt_paths: [bad] }).expect(400);
      expect(body.errors[0]).toContain('rate_limit_exempt_paths');
    }
    const many = Array.from({ length: 101 }, (_, i) => `kv/${i}`);
    await secrets.root.write('sys/quotas/config', { rate_limit_exempt_paths: many }).expect(400);
    await secrets.root.write('sys/quotas/config', {}).expect(204);
    expect(await read()).toEqual(before);
  });

  it.each([
    ['rate-limit', { path: 'cubbyhole', rate: 50, interval: '1m', block_interval: '2m' }, { rate: 500 }],
    ['lease-count', { path: 'cubbyhole', role: 'r', max_leases: 5 }, { max_leases: 6 }],
  ])('belong to a %s that keeps omitted fields when it is written again', async (kind, first, again) => {
    const at = `sys/quotas/${kind}/kept`;
    await secrets.root.write(at, first).expect(204);
    const { counter: _counted, ...before } = (await secrets.root.read(at).expect(200)).body.data;
    await secrets.root.write(at, again).expect(204);
    expect((await secrets.root.read(at).expect(200)).body.data).toMatchObject({ ...before, ...again });
    await secrets.root.delete(at).expect(204);
  });

  it('decide which requests are counted, what answers show, and whether refusals are audited', async () => {
    await secrets.root.write('sys/quotas/rate-limit/slow', { path: 'cubbyhole', rate: 1, interval: '1h' }).expect(204);
    const ask = (path: string) => secrets.root.read(`cubbyhole/${path}`);
    const rules = { enable_rate_limit_audit_logging: false, enable_rate_limit_response_headers: true };
    await secrets.root
      .write('sys/quotas/config', { ...rules, rate_limit_exempt_paths: ['cubbyhole/free'] })
      .expect(204);
    expect((await ask('free').expect(404)).headers).not.toHaveProperty('x-ratelimit-limit');
    expect((await ask('first').expect(404)).headers).toMatchObject({
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '3600',
    });
    const refused = await ask('quiet').expect(429);
    expect(refused.headers).toMatchObject({ 'x-ratelimit-remaining': '0', 'retry-after': '3600' });
    await ask('free').expect(404);
    await secrets.root.write('sys/quotas/config', {}).expect(204);
    expect((await ask('loud').expect(429)).headers).not.toHaveProperty('x-ratelimit-limit');
    expect([audited('cubbyhole/quiet'), audited('cubbyhole/loud'), audited('cubbyhole/free')]).toEqual([
      false,
      true,
      true,
    ]);
    await secrets.root.delete('sys/quotas/rate-limit/slow').expect(204);
  });
});

describe('requests in flight', () => {
  it('are shown by their ids to callers who may see them, until they are answered', async () => {
    const read = async () => (await secrets.root.read('sys/in-flight-req').expect(200)).body;
    const own = await read();
    expect(Object.values(own)).toEqual([
      {
        start_time: expect.stringMatching(/^20.*Z$/),
        client_remote_address: '127.0.0.1',
        request_path: '/v1/sys/in-flight-req',
        request_method: 'GET',
        client_id: '',
      },
    ]);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { committer } = secrets.service.kernel;
    const commit = committer.commit.bind(committer);
    committer.commit = async (set) => {
      if (set.puts.length > 0) await held;
      return commit(set);
    };
    const slow = secrets.root.write('cubbyhole/slow', { a: 'secret-value' }).then((answer) => answer);
    let seen: Record<string, { request_path: string; request_method: string; start_time: string }> = {};
    while (Object.keys(seen).length < 2) {
      seen = await read();
      await sleep(5);
    }
    const first = Object.values(seen)[0]!;
    expect(first).toMatchObject({ request_path: '/v1/cubbyhole/slow', request_method: 'POST' });
    expect(Math.abs(Date.parse(first.start_time) - Date.now())).toBeLessThan(20_000);
    expect(JSON.stringify(seen)).not.toContain('secret-value');
    committer.commit = commit;
    release();
    expect((await slow).status).toBe(204);
    expect(Object.keys(await read())).toHaveLength(1);
    const some = await secrets.withPolicy('path "sys/in-flight-req" { capabilities = ["read"] }');
    await some.read('sys/in-flight-req').expect(403);
  });
});

describe('locked users', () => {
  const wrong = (path: string) => secrets.anonymous.write(path, { password: 'wrong' }).expect(400);
  const lock = async (path: string) => {
    for (let i = 0; i < 5; i++) await wrong(path);
  };

  it('are shown by namespace and login method, and unlocked', async () => {
    await secrets.root.write('sys/namespaces/inner').expect(200);
    const inner = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'inner' });
    for (const at of [secrets.root, inner]) {
      await at.write('sys/auth/people', { type: 'userpass' }).expect(204);
      await at.write('auth/people/users/ada', { password: 'right-one' }).expect(204);
    }
    const accessor = (await secrets.root.read('sys/auth').expect(200)).body.data['people/'].accessor;
    const innerAccessor = (await inner.read('sys/auth').expect(200)).body.data['people/'].accessor;
    const read = async (at = secrets.root, query = '') =>
      (await at.read(`sys/locked-users${query}`).expect(200)).body.data;
    expect(await read()).toMatchObject({ total: 0 });
    await lock('auth/people/login/ADA');
    await lock('auth/people/login/unknown');
    await lock('inner/auth/people/login/ada');
    await wrong('auth/people/login/bo');
    const all = await read();
    expect(all).toMatchObject({
      total: 3,
      by_namespace: [
        { namespace_path: '', counts: 2, mount_accessors: [{ mount_accessor: accessor, counts: 2 }] },
        {
          namespace_path: 'inner/',
          counts: 1,
          mount_accessors: [{ mount_accessor: innerAccessor, counts: 1, alias_identifiers: ['ada'] }],
        },
      ],
    });
    expect(all.by_namespace[0].mount_accessors[0].alias_identifiers.sort()).toEqual(['ada', 'unknown']);
    expect(await read(inner)).toMatchObject({ total: 1, by_namespace: [{ namespace_path: 'inner/' }] });
    expect(await read(inner, `?mount_accessor=${accessor}`)).toMatchObject({ total: 0 });
    const right = () => secrets.anonymous.write('auth/people/login/ada', { password: 'right-one' });
    await right().expect(400);
    // An accessor of another namespace is unknown.
    for (const [who, unknown] of [
      [inner, accessor],
      [secrets.root, 'nothing'],
    ] as const) {
      const { body } = await who.write(`sys/locked-users/${unknown}/unlock/ada`).expect(200);
      expect(body.warnings).toEqual([`no mount of this namespace has the accessor "${unknown}"`]);
    }
    await right().expect(400);
    await secrets.root.write(`sys/locked-users/${accessor}/unlock/Ada`).expect(204);
    await right().expect(200);
    expect(await read()).toMatchObject({ total: 2 });
    await secrets.root.delete('sys/auth/people').expect(204);
    expect(await read()).toMatchObject({ total: 1 });
  });

  it('have no readable names in the tables', async () => {
    const { rows } = await secrets.service.kernel.committer.transaction((tx) =>
      tx.query<{ text: string }>("SELECT string_agg(a::text || encode(sealed, 'escape'), ' ') AS text FROM attempt a"),
    );
    expect(rows[0]!.text).toMatch(/\S/);
    expect(rows[0]!.text).not.toMatch(/unknown|\bada\b/);
  });
});

describe('automatic rotation', () => {
  it('has settings that are shown and changed one by one, at both paths', async () => {
    const read = async (at = 'sys/rotate/config') => (await secrets.root.read(at).expect(200)).body.data;
    expect(await read()).toEqual({ enabled: true, interval: 0, max_operations: 3_865_470_566 });
    await secrets.root.write('sys/rotate/config', { interval: '36h' }).expect(204);
    await secrets.root.write('sys/rotate/keyring/config', { max_operations: 2_000_000, enabled: false }).expect(204);
    expect(await read('sys/rotate/keyring/config')).toEqual({
      enabled: false,
      interval: '36h0m0s',
      max_operations: 2_000_000,
    });
    for (const bad of [
      { interval: '23h' },
      { interval: '-1h' },
      { max_operations: 999_999 },
      { max_operations: 4e9 },
    ]) {
      await secrets.root.write('sys/rotate/config', bad).expect(400);
    }
    await secrets.root.write('sys/rotate/config', { interval: 0, enabled: true }).expect(204);
    expect(await read()).toEqual({ enabled: true, interval: 0, max_operations: 2_000_000 });
  });
});

describe('a reload', () => {
  it('clears caches, names the request, and refuses paths that are not mounts', async () => {
    await secrets.root.write('sys/mounts/notes', { type: 'kv' }).expect(204);
    await secrets.root.write('notes/a', { n: 1 }).expect(204);
    await secrets.root.read('notes/a').expect(200);
    const reload = (body: object) => secrets.root.write('sys/plugins/reload/backend', body);
    const forgotten: string[] = [];
    const changes = secrets.service.kernel.changes as unknown as ChangeNotices;
    changes.listen('entry', (key) => forgotten.push(key));
    changes.listen('setting', (key) => forgotten.push(key));
    const { body } = await reload({ plugin: 'kv', scope: 'global' }).expect(200);
    expect(body.data).toEqual({ reload_id: body.request_id });
    expect(forgotten).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\/\t$/), 'reload/kv']);
    for (const mounts of ['notes/', 'notes,auth/token/', ['sys/auth/token']]) await reload({ mounts }).expect(200);
    for (const bad of [
      {},
      { plugin: 'kv', mounts: 'notes' },
      { plugin: 'nothing' },
      { plugin: 'system' },
      { plugin: 'cubbyhole' },
      { mounts: 'nothing' },
      { mounts: 'notes,nothing' },
      { plugin: 'kv', scope: 'local' },
    ]) {
      await reload(bad).expect(400);
    }
    await secrets.root.read('notes/a').expect(200);
    await secrets.root.delete('sys/plugins/catalog/secret/absent').expect(204);
    await secrets.root.delete('sys/plugins/catalog/secret/kv').expect(400);
    await secrets.root.read('sys/plugins/catalog/secret/kv').expect(200);
  });
});

describe('following the log', () => {
  const follow = (query = '', token = secrets.rootToken) =>
    new Promise<IncomingMessage & { lines: string }>((resolve) => {
      const { port } = secrets.server.address() as AddressInfo;
      const headers = { 'X-Service-Token': token };
      get({ host: '127.0.0.1', port, path: `/v1/sys/monitor${query}`, headers }, (response) => {
        const seen = Object.assign(response, { lines: '' });
        response.setEncoding('utf8').on('data', (text: string) => {
          seen.lines += text;
        });
        resolve(seen);
      });
    });
  const told = (seen: { lines: string }, text: string) => until(() => seen.lines.includes(text));
  const ended = (seen: IncomingMessage) => new Promise((resolve) => seen.once('close', resolve));

  it('sends each line of a level or above, formatted or unchanged, without secrets, until the reader leaves', async () => {
    await secrets.root.write('sys/loggers', { level: 'info' }).expect(204);
    const { log } = secrets.service.kernel;
    const plain = await follow('?log_level=warn');
    const json = await follow('?log_format=json');
    expect([plain.statusCode, json.statusCode]).toEqual([200, 200]);
    log.info({ n: 1 }, 'first of all');
    log.warn({ token: 'hunter2', where: 'here and there', at: 'kv' }, 'second of all');
    await told(plain, 'second of all');
    await told(json, 'second of all');
    expect(plain.lines).toMatch(
      /^\S+Z \[WARN\] secrets: second of all: token=\[?"?\[redacted\]"? where="here and there" at=kv\n$/,
    );
    expect(
      json.lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).msg),
    ).toEqual(['first of all', 'second of all']);
    expect(plain.lines + json.lines).not.toContain('hunter2');
    for (const one of [plain, json]) one.destroy();
  });

  it('first names the levels that are not written, and sends their lines once they are', async () => {
    await secrets.root.write('sys/loggers', { level: 'info' }).expect(204);
    const { log } = secrets.service.kernel;
    const seen = await follow('?log_level=debug&log_format=json');
    await told(seen, 'no lines of lower levels');
    expect(JSON.parse(seen.lines)).toMatchObject({ level: 'warn', writes: 'info' });
    log.debug('not written');
    await secrets.root.write('sys/loggers', { level: 'debug' }).expect(204);
    log.debug('written');
    await told(seen, '"written"');
    expect(seen.lines).not.toContain('not written');
    const full = await follow('?log_level=debug');
    log.debug('for both');
    await told(full, 'for both');
    expect(full.lines).not.toContain('lower levels');
    await secrets.root.write('sys/loggers', { level: 'info' }).expect(204);
    for (const one of [seen, full]) one.destroy();
  });

  it('is for callers with sudo, for levels that exist, and for a limited number at a time', async () => {
    const some = await secrets.withPolicy('path "sys/monitor" { capabilities = ["read"] }');
    await some.read('sys/monitor').expect(403);
    for (const bad of ['log_level=loud', 'log_format=xml']) {
      await secrets.root.read(`sys/monitor?${bad}`).expect(400);
    }
    await sleep(100);
    const all = [];
    for (let i = 0; i < 8; i++) all.push(await follow());
    await secrets.root.read('sys/monitor').expect(429);
    for (const one of all) one.destroy();
  });

  it('drops unread lines, and reports it', async () => {
    let give: (line: string) => void = () => {};
    const monitors = new Monitors({ level: 'info' }, (follower) => {
      give = follower;
      return () => {};
    });
    const written: string[] = [];
    const sink = { unread: 0, write: (text: string) => void written.push(text), end: () => {} };
    const leave = monitors.follow('info', 'json', async () => true, sink);
    const line = (msg: string) => give(`{"level":"info","time":"t","name":"secrets","msg":"${msg}"}\n`);
    line('a');
    sink.unread = 1 << 20;
    line('b');
    line('c');
    sink.unread = 0;
    line('d');
    leave();
    const seen = written.map((text) => JSON.parse(text));
    expect(seen.map(({ msg, lines }) => lines ?? msg)).toEqual(['a', 2, 'd']);
  });

  const reads = 'path "sys/monitor" { capabilities = ["read"] }';
  it.each<[string, (name: string, entity: string) => Promise<unknown>]>([
    [
      'the policy gives it no more',
      (name) => secrets.root.write(`sys/policies/acl/${name}`, { policy: reads }).expect(204),
    ],
    [
      'the entity is disabled',
      (_, id) => secrets.root.write(`identity/entity/id/${id}`, { disabled: true }).expect(204),
    ],
  ])('ends when %s', async (_what, take) => {
    const name = `follower-${Math.random().toString(36).slice(2)}`;
    const policy = 'path "sys/monitor" { capabilities = ["read", "sudo"] }';
    await secrets.root.write(`sys/policies/acl/${name}`, { policy }).expect(204);
    await secrets.root.write(`sys/auth/${name}`, { type: 'userpass' }).expect(204);
    await secrets.root.write(`auth/${name}/users/a`, { password: 'of a person', token_policies: name }).expect(204);
    const { body } = await secrets.anonymous.write(`auth/${name}/login/a`, { password: 'of a person' }).expect(200);
    const seen = await follow('', body.auth.client_token);
    expect(seen.statusCode).toBe(200);
    const over = ended(seen);
    await take(name, body.auth.entity_id);
    await over;
  });

  it('ends with the token, and when the node stops', async () => {
    const rules = 'path "sys/monitor" { capabilities = ["read", "sudo"] }';
    const some = await secrets.withPolicy(rules, { ttl: '1h' });
    const short = await follow('', some.token);
    const long = await follow();
    expect([short.statusCode, long.statusCode]).toEqual([200, 200]);
    const over = ended(short);
    await secrets.root.write('auth/token/revoke', { token: some.token! }).expect(204);
    await over;
    const last = ended(long);
    secrets.service.endStreams();
    await last;
    await secrets.root.delete('sys/loggers').expect(204);
  });
});
