import { describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { manualClock } from '@keystead/testing';
import type { Modules } from '../src/service/modules';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

const search = (query: Readonly<Record<string, string | number>>): string =>
  `sys/audit-reads?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`;

describe('recorded reads', () => {
  const clock = manualClock(Date.UTC(2027, 0, 1, 12));
  const secrets = startSecrets({ clock, env: { SECRETS_AUDIT_READS: 'on', SECRETS_AUDIT_READS_DAYS: '30' } });
  const modules = () => secrets.service.kernel as unknown as Modules;
  // biome-ignore lint/suspicious/noExplicitAny: an answer
  const found = async (query: Record<string, string | number> = {}): Promise<any> => {
    await modules().reads.write();
    return (await secrets.root.read(search(query)).expect(200)).body.data;
  };
  // biome-ignore lint/suspicious/noExplicitAny: an answer
  const paths = ({ reads }: any): string[] => reads.map(({ path }: any) => path);
  const engine = async (path: string, client = secrets.root) => {
    await client.write(`sys/mounts/${path}`, { type: 'kv', options: { version: '2' } }).expect(204);
    await client.write(`${path}/data/app/database`, { data: { password: 'barnacle' } }).expect(200);
  };

  it('show who read which secret, from where, when and how often, and no value', async () => {
    await engine('who');
    const holder = await secrets.withPolicy('path "who/*" { capabilities = ["read"] }');
    await holder.read('who/data/app/database').expect(200);
    clock.advance(60_000);
    await holder.read('who/data/app/database').expect(200);
    await modules().reads.write();
    clock.advance(60_000);
    await holder.read('who/data/app/database').expect(200);
    await holder.read('who/data/app/database?version=1&unknown=1').expect(200);
    await holder.read('who/data/app/database?version=1&unknown=2').expect(200);
    await secrets.root.read('who/data/app/database').expect(200);
    const answer = await found({ path: 'who/data/app/database' });
    expect(answer).toMatchObject({ recording: true, kept_days: 30, next: null });
    const ofHolder = answer.reads.filter((one: { entry: { auth: { display_name: string } } }) =>
      one.entry.auth.display_name.startsWith('token'),
    );
    expect(ofHolder.map(({ times }: { times: number }) => times).sort()).toEqual([2, 3]);
    expect(answer.reads).toContainEqual({
      namespace_path: '',
      path: 'who/data/app/database',
      first_time: '2027-01-01T12:00:00.000Z',
      last_time: '2027-01-01T12:02:00.000Z',
      times: 3,
      entry: expect.objectContaining({
        request: expect.objectContaining({ operation: 'read', remote_address: expect.stringContaining('127.0.0.1') }),
      }),
    });
    expect(
      answer.reads.map(({ entry }: { entry: { auth: { display_name: string } } }) => entry.auth.display_name),
    ).toContain('root');
    expect(JSON.stringify(answer)).not.toContain('barnacle');
  });

  it('have a row for each batch token, although batch tokens have no accessor', async () => {
    await engine('batches');
    await secrets.root.write('sys/policies/acl/batches', { policy: 'path "batches/*" { capabilities = ["read"] }' });
    const tokens: string[] = [];
    for (let i = 0; i < 2; i++) {
      const { body } = await secrets.root
        .write('auth/token/create', { type: 'batch', policies: ['batches'] })
        .expect(200);
      tokens.push(body.auth.client_token);
      for (let n = 0; n < 2; n++) await secrets.as(tokens[i]!).read('batches/data/app/database').expect(200);
    }
    const answer = await found({ path: 'batches/data/app/database' });
    expect(
      answer.reads.map(({ times, entry }: { times: number; entry: { auth: { token_type: string } } }) => [
        times,
        entry.auth.token_type,
      ]),
    ).toEqual([
      [2, 'batch'],
      [2, 'batch'],
    ]);
    for (const token of tokens) expect(JSON.stringify(answer)).not.toContain(token);
  });

  it('have a separate row for each hour, and are found by time, newest first', async () => {
    await engine('hours');
    const at = clock.now();
    await secrets.root.read('hours/data/app/database').expect(200);
    clock.advance(3_600_000);
    await secrets.root.read('hours/data/app/database').expect(200);
    const iso = (ms: number) => new Date(ms).toISOString();
    const times = async (query: object) =>
      (await found({ path: 'hours/data/app/database', ...query })).reads.map(
        (one: { first_time: string }) => one.first_time,
      );
    expect(await times({})).toEqual([iso(at + 3_600_000), iso(at)]);
    expect(await times({ since: iso(at + 1) })).toEqual([iso(at + 3_600_000)]);
    expect(await times({ until: iso(at) })).toEqual([iso(at)]);
    expect(await times({ since: iso(at), until: iso(at + 3_600_000) })).toHaveLength(2);
  });

  it('are found by folder, namespace and entity', async () => {
    await engine('folders');
    await secrets.root.write('folders/data/app_x/one', { data: { a: 1 } }).expect(200);
    await secrets.root.write('folders/data/appyx/one', { data: { a: 1 } }).expect(200);
    for (const name of ['app/database', 'app_x/one', 'appyx/one'])
      await secrets.root.read(`folders/data/${name}`).expect(200);
    expect(paths(await found({ path: 'folders/' }))).toHaveLength(3);
    expect(paths(await found({ path: 'folders/data/app_x/' }))).toEqual(['folders/data/app_x/one']);
    expect(paths(await found({ path: 'folders/data/app' }))).toEqual([]);
    await secrets.root.write('sys/namespaces/team').expect(200);
    const team = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'team' });
    await engine('folders', team);
    await team.read('folders/data/app/database').expect(200);
    expect(paths(await found({ path: 'folders/', namespace: 'team' }))).toEqual(['folders/data/app/database']);
    expect(paths(await found({ path: 'folders/', namespace: '/' }))).toHaveLength(3);
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    await secrets.root.write('sys/policies/acl/reads', { policy: 'path "folders/*" { capabilities = ["read"] }' });
    await secrets.root.write('auth/userpass/users/ada', { password: 'p', token_policies: 'reads' }).expect(204);
    const { auth } = (await secrets.anonymous.write('auth/userpass/login/ada', { password: 'p' }).expect(200)).body;
    await secrets.as(auth.client_token).read('folders/data/app/database').expect(200);
    const hers = await found({ entity_id: auth.entity_id });
    expect(paths(hers)).toEqual(['folders/data/app/database']);
    expect(hers.reads[0].entry.auth.display_name).toBe('userpass-ada');
  });

  it('do not include lists, writes, refusals, or reads outside secrets engines', async () => {
    await engine('others');
    const stranger = await secrets.withPolicy('path "nothing" { capabilities = ["read"] }');
    await stranger.read('others/data/app/database').expect(403);
    await secrets.root.list('others/metadata').expect(200);
    await secrets.root.read('others/data/app/none').expect(404);
    await secrets.root.read('others/config').expect(200);
    await secrets.root.read('sys/mounts').expect(200);
    expect(paths(await found({ path: 'others/' }))).toEqual([]);
    expect(paths(await found({ path: 'sys/' }))).toEqual([]);
  });

  it('come in pages that miss none and repeat none', async () => {
    await engine('many');
    for (let i = 0; i < 20; i++) {
      await secrets.root.write(`many/data/${i}`, { data: { a: 1 } }).expect(200);
      await secrets.root.read(`many/data/${i}`).expect(200);
    }
    const seen: string[] = [];
    let after = '';
    do {
      const page = await found({ path: 'many/', limit: 7, ...(after && { after }) });
      seen.push(...paths(page));
      after = page.next;
    } while (after);
    expect(new Set(seen).size).toBe(20);
    expect(seen).toHaveLength(20);
  });

  it('are written periodically, and the rest when the service ends', async () => {
    await engine('single');
    await secrets.root.read('single/data/app/database').expect(200);
    const { database } = modules().storage;
    const rows = async () =>
      (await database.query("SELECT 1 FROM audit_read WHERE path = 'single/data/app/database'")).rows.length;
    await until(async () => (await rows()) === 1);
  });

  /** A write that does not end before the returned function is called; no other begins in the meantime. */
  const heldWrite = async (path: string): Promise<() => Promise<void>> => {
    const reads = modules().reads as unknown as { insert(rows: unknown): Promise<void>; write(): Promise<void> };
    await reads.write();
    const insert = reads.insert.bind(reads);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const spy = jest.spyOn(reads, 'insert').mockImplementation(async (rows) => {
      await held;
      await insert(rows);
    });
    await secrets.root.read(path).expect(200);
    const write = reads.write();
    await until(async () => spy.mock.calls.length > 0);
    return async () => {
      release();
      await write;
      spy.mockRestore();
    };
  };

  it('are all stored when a write has ended, even if another was in progress', async () => {
    await engine('together');
    const release = await heldWrite('together/data/app/database');
    const search = found({ path: 'together/' });
    await release();
    expect(paths(await search)).toHaveLength(1);
  });

  it('wait in memory while the database is down', async () => {
    await engine('away');
    await secrets.root.read('away/data/app/database').expect(200);
    const { reads, storage } = modules();
    await reads.write();
    await secrets.root.read('away/data/app/database').expect(200);
    const query = jest
      .spyOn(storage.database, 'query')
      .mockRejectedValue(new Refusal('unavailable', 'storage is unavailable'));
    await expect(reads.write()).rejects.toThrow('storage is unavailable');
    query.mockRestore();
    const [row] = (await found({ path: 'away/data/app/database' })).reads;
    expect([row.times, reads.dropped]).toEqual([2, 0]);
  });

  it('are counted instead of recorded if too many wait', async () => {
    await engine('long');
    for (const n of [2, 3]) await secrets.root.write('long/data/app/database', { data: { n } }).expect(200);
    const { reads, storage } = modules();
    const release = await heldWrite('long/data/app/database?version=3');
    const line = jest
      .spyOn((reads as unknown as { parts: { line(): string } }).parts, 'line')
      .mockReturnValue(JSON.stringify({ long: 'x'.repeat(17 * 2 ** 20) }));
    for (const version of [1, 2, 3]) await secrets.root.read(`long/data/app/database?version=${version}`).expect(200);
    line.mockRestore();
    expect(reads.dropped).toBe(1);
    await release();
    await reads.write();
    await secrets.root.read('long/data/app/database').expect(200);
    expect(reads.dropped).toBe(1);
    await storage.database.query("DELETE FROM audit_read WHERE path LIKE 'long/%'");
  });

  it('are deleted after the days that are set', async () => {
    await engine('old');
    await secrets.root.read('old/data/app/database').expect(200);
    expect(paths(await found({ path: 'old/' }))).toHaveLength(1);
    clock.advance(31 * 86_400_000);
    modules().storage.background.wake('audit-reads-old');
    await until(async () => paths(await found({ path: 'old/' })).length === 0);
  });

  it.each([
    ['limit', { limit: 0 }],
    ['since', { since: 'yesterday' }],
    ['until', { until: '12:00' }],
    ['after', { after: 'x' }],
  ] as [string, Record<string, string | number>][])('refuse a bad %s by name', async (field, query) => {
    const { body } = await secrets.root.read(search(query)).expect(400);
    expect(body.errors.join()).toContain(field);
  });

  it('are shown only with sudo', async () => {
    const reader = await secrets.withPolicy('path "sys/audit-reads" { capabilities = ["read"] }');
    await reader.read('sys/audit-reads').expect(403);
    const auditor = await secrets.withPolicy('path "sys/audit-reads" { capabilities = ["read", "sudo"] }');
    await auditor.read('sys/audit-reads').expect(200);
  });
});

describe('without SECRETS_AUDIT_READS', () => {
  const secrets = startSecrets();

  it('nothing is recorded, and the answer reports it', async () => {
    await secrets.root.write('cubbyhole/a', { v: 1 }).expect(204);
    await secrets.root.read('cubbyhole/a').expect(200);
    const { body } = await secrets.root.read('sys/audit-reads').expect(200);
    expect(body.data).toEqual({ recording: false, kept_days: 90, reads: [], next: null });
  });
});
