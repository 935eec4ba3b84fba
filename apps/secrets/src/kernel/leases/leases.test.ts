import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';
import { lifetime } from '../../sdk/lifetime';
import { NotNow } from '../../sdk/outside';
import type { LiveMount } from '../mounts/mount';
import type { Namespace } from '../namespaces/namespaces';
import type { StorageKernel } from '../storage/storage';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { add, newWriteSet } from '../storage/write-set';
import { StoredTokens } from '../tokens/tokens';
import type { TokenRecord } from '../tokens/types';
import { Leases } from './leases';
import type { LeaseHosts } from './types';

/** An outside system: its calls to revoke, and whether it refuses them. */
class Outside {
  readonly ended: string[] = [];
  readonly calls: string[] = [];
  refuses: Error | undefined;
  /** Holds a call back until it is released; then the call fails. */
  holds: ((name: string) => Promise<void> | undefined) | undefined;
  readonly undone: unknown[] = [];
}

const privateMount = randomUUID();
const namespace = { uuid: ROOT_NAMESPACE_ID, id: 'root', path: '', parentUuid: undefined } as Namespace;
let time = Date.now();
const clock = { now: () => time };
let test: TestStorage;
let outside: Outside;
let mount: LiveMount;
/** A mount whose outside system never answers. */
let hanging: LiveMount | undefined;
let leases: Leases;
let tokens: StoredTokens;
let crash: string | undefined;
let slow: string | undefined;

const fault = async (name: string) => {
  if (name === crash) throw new Error(`stopped at ${name}`);
  if (name === slow) await new Promise((resolve) => setTimeout(resolve, 300));
};

function mountOf(into: Outside): LiveMount {
  return {
    uuid: randomUUID(),
    path: 'engine/',
    view: { defaultLeaseTtlSeconds: 100, maxLeaseTtlSeconds: 1000 },
    backend: {
      type: 'engine',
      secrets: {
        thing: {
          revoke: async ({ name }: { name: string }) => {
            into.calls.push(name);
            const held = into.holds?.(name);
            if (held) return await held;
            if (into.refuses) throw into.refuses;
            into.ended.push(name);
          },
        },
      },
      undo: { thing: async (undo: unknown) => void into.undone.push(undo) },
    },
  } as unknown as LiveMount;
}

const hosts = (): LeaseHosts => ({
  findMount: (id) => [mount, hanging].find((one) => one?.uuid === id),
  refreshMounts: () => undefined,
  privateMountIds: () => [privateMount],
  inBackground: (_mount, run) => run({} as never),
  lifetime,
  quotasOf: () => [],
});

beforeAll(async () => {
  outside = new Outside();
  mount = mountOf(outside);
  test = await freshStorage({ clock, fault });
  tokens = new StoredTokens(test.storage, { within: (outer, inner) => outer === inner });
  leases = new Leases(test.storage, hosts());
});
afterAll(() => test.close());
afterEach(() => {
  outside.refuses = undefined;
  outside.holds = undefined;
});

const commit = (set: ReturnType<typeof newWriteSet>, storage: StorageKernel = test.storage) =>
  storage.committer.commit(set);

async function mint(parent?: TokenRecord, more: { ttlSeconds?: number; path?: string } = {}) {
  const set = newWriteSet();
  const minted = tokens.mint(
    {
      type: 'service',
      parent,
      namespaceId: ROOT_NAMESPACE_ID,
      namespaceShortId: '',
      path: more.path ?? 'auth/token/create',
      displayName: 'token',
      policies: [],
      ttlSeconds: more.ttlSeconds ?? 3600,
      renewable: true,
    },
    set,
  );
  await commit(set);
  return minted;
}

async function lease(owner: TokenRecord | undefined, name: string, ttlSeconds = 0, path = 'engine/creds/ops') {
  const set = newWriteSet();
  const secret = { kind: 'secret' as const, type: 'thing', data: {}, internal: { name }, ttlSeconds };
  const registered = await leases.register({ namespace, mount, path }, owner, secret, set);
  await commit(set);
  return registered;
}

const find = (id: string) => leases.find(ROOT_NAMESPACE_ID, id);
const rowsOf = async (table: string) => Number((await test.byHand(`SELECT count(*) FROM ${table}`))[0]!.count);

describe('a lease', () => {
  it('is stored in the database and found by its id, which is never stored in plaintext', async () => {
    const { record } = await mint();
    const { id, ttlSeconds } = await lease(record, 'one', 50);
    expect(id).toMatch(/^engine\/creds\/ops\/[0-9A-Za-z]{24}$/);
    expect(ttlSeconds).toBe(50);
    expect(await find(id)).toMatchObject({ id, internal: { name: 'one' }, state: 'live', expiresAtMs: time + 50_000 });
    expect(await find(id.replace('ops', 'other'))).toBeUndefined();
    const dump = JSON.stringify(await test.byHand('SELECT l.*::text AS row FROM lease l'));
    expect(dump).not.toContain(id.slice(-24));
  });

  it('is renewed from now on, never beyond its maximum', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'renewed', 50);
    time += 20_000;
    expect((await leases.renew(ROOT_NAMESPACE_ID, id, 70)).ttlSeconds).toBe(70);
    expect(await find(id)).toMatchObject({ expiresAtMs: time + 70_000, renewedAtMs: time });
    const { ttlSeconds, warnings } = await leases.renew(ROOT_NAMESPACE_ID, id, 5000);
    expect(ttlSeconds).toBe(980);
    expect(warnings).toHaveLength(1);
    await expect(leases.renew(ROOT_NAMESPACE_ID, `${id}x`, 1)).rejects.toThrow('lease not found');
  });

  it('is renewed for simultaneous callers, and never after its end', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'renewed-at-once', 50);
    const renewing = Array.from({ length: 40 }, (_, i) => leases.renew(ROOT_NAMESPACE_ID, id, 60 + i));
    expect((await Promise.all(renewing)).map(({ ttlSeconds }) => ttlSeconds)).toEqual(renewing.map((_, i) => 60 + i));
    expect((await find(id))!.expiresAtMs).toBeGreaterThanOrEqual(time + 60_000);
    const renewals = Array.from({ length: 10 }, () => leases.renew(ROOT_NAMESPACE_ID, id, 60).catch(() => {}));
    await leases.revoke(ROOT_NAMESPACE_ID, id);
    await Promise.all(renewals);
    expect(await find(id)).toBeUndefined();
  });

  it('is revoked by id, and repeated revocations succeed', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'by-id');
    await leases.revoke(ROOT_NAMESPACE_ID, id);
    expect(outside.ended).toContain('by-id');
    expect(await find(id)).toBeUndefined();
    await leases.revoke(ROOT_NAMESPACE_ID, id);
    expect(outside.ended.filter((name) => name === 'by-id')).toHaveLength(1);
  });

  it('stays when the outside system refuses, with its reason', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'refused');
    outside.refuses = new Error('no such luck');
    await expect(leases.revoke(ROOT_NAMESPACE_ID, id)).rejects.toThrow(
      'failed to revoke entry: resp: (*logical.Response)(nil) err: no such luck',
    );
    outside.refuses = undefined;
    expect(await find(id)).toBeDefined();
  });

  it('is revoked by the sweep when it expires', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'expired', 5);
    time += 6000;
    await expect(leases.renew(ROOT_NAMESPACE_ID, id, 10)).rejects.toThrow('lease expired');
    await until(() => outside.ended.includes('expired'));
    await until(async () => (await find(id)) === undefined);
  });

  it('changed by hand to live longer is noticed', async () => {
    const { id } = await lease(undefined, 'stretched');
    await test.byHand('UPDATE lease SET expires_at_ms = expires_at_ms + 1000 WHERE path = $1 AND token_hash IS NULL', [
      'engine/creds/ops/',
    ]);
    await expect(find(id)).rejects.toThrow('was changed in the database');
    await test.byHand('DELETE FROM lease WHERE token_hash IS NULL');
  });
});

describe('a revocation that fails', () => {
  it('is retried with growing pauses, then becomes irrevocable, and can be replayed', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'stubborn', 1);
    outside.refuses = new Error(`upstream says ${'no '.repeat(200)}`);
    time += 2000;
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 6; attempt++) {
      await until(async () => (await find(id))?.attempts === attempt);
      const [row] = await test.byHand('SELECT due_at_ms FROM lease WHERE attempts = $1', [attempt]);
      pauses.push(Number(row!.due_at_ms) - time);
      if (attempt < 6) time = Number(row!.due_at_ms);
    }
    for (let n = 0; n < 5; n++) {
      expect(pauses[n]).toBeGreaterThanOrEqual(5000 * 2 ** n);
      expect(pauses[n]).toBeLessThanOrEqual(15_000 * 2 ** n);
    }
    const current = (await find(id))!;
    expect(current.state).toBe('irrevocable');
    expect(current.failure).toHaveLength(240);
    expect((await leases.irrevocable([ROOT_NAMESPACE_ID], 10)).map((one) => one.id)).toEqual([id]);
    expect(await leases.countIrrevocable([ROOT_NAMESPACE_ID])).toEqual(new Map([[mount.uuid, 1]]));
    outside.refuses = undefined;
    expect(await leases.replay(ROOT_NAMESPACE_ID)).toBe(1);
    await until(async () => (await find(id)) === undefined);
    expect(outside.ended).toContain('stubborn');
  });
});

describe('an outside system that asks for a rest', () => {
  it('is not called for as long as it asks, without counting a failure or delaying other systems', async () => {
    const { record } = await mint();
    const other = new Outside();
    hanging = mountOf(other);
    const leaseOf = async (of: LiveMount, name: string) => {
      const set = newWriteSet();
      const secret = { kind: 'secret' as const, type: 'thing', data: {}, internal: { name }, ttlSeconds: 1 };
      const { id } = await leases.register({ namespace, mount: of, path: 'engine/throttled/x' }, record, secret, set);
      await commit(set);
      return id;
    };
    const slow = await Promise.all(Array.from({ length: 60 }, (_, n) => leaseOf(mount, `slow-${n}`)));
    const ofSlow = `lease WHERE mount_id = '${mount.uuid}' AND path LIKE 'engine/throttled/%'`;
    const resting = () => rowsOf(`${ofSlow} AND claimed_by IS NULL AND due_at_ms = ${time + 10_000}`);
    const claimed = () => rowsOf(`${ofSlow} AND claimed_by IS NOT NULL`);
    outside.refuses = new NotNow('slow down', 10_000);
    const { database } = test.storage;
    const query = database.query.bind(database);
    const spy = jest.spyOn(database, 'query').mockImplementation((statement, ...rest) => {
      if (typeof statement === 'string' || statement.name !== 'lease-put-back') return query(statement, ...rest);
      spy.mockRestore();
      return Promise.reject(new Error('the connection was lost'));
    });
    time += 2000;
    // The leases that are revoked at the same time; the others are due, but not claimed.
    await until(async () => (await resting()) > 0 && (await claimed()) === 0);
    expect(await resting()).toBeLessThanOrEqual(16);
    const callsBefore = outside.calls.length;
    await leaseOf(hanging, 'quick');
    time += 2000;
    await until(() => other.ended.length === 1);
    expect(outside.calls.slice(callsBefore)).toEqual([]);
    time += 8000;
    // At most half as many calls as before. Leases of earlier tests may be due as well, and if a node is silent for
    // seconds, its claims end and leases are revoked twice.
    await until(async () => (await resting()) > 0 && (await claimed()) === 0);
    const again = outside.calls.slice(callsBefore).filter((name) => name.startsWith('slow-'));
    expect(new Set(again).size).toBeLessThanOrEqual(8);
    expect((await find(slow[0]!))!.attempts).toBe(0);
    outside.refuses = undefined;
    time += 10_000;
    await until(async () => (await rowsOf(ofSlow)) === 0);
    expect(outside.ended.filter((name) => name.startsWith('slow-'))).toHaveLength(60);
  });

  it('that fails permanently makes leases irrevocable, with the reason', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'never', 1, 'engine/never/x');
    outside.refuses = new NotNow('no answer', 5 * 60_000);
    await until(async () => {
      time += 60_000;
      return (await find(id))!.state === 'irrevocable';
    });
    expect((await find(id))!.attempts).toBe(6);
    expect(await find(id)).toMatchObject({ state: 'irrevocable', failure: 'no answer' });
    outside.refuses = undefined;
    await leases.replay(ROOT_NAMESPACE_ID, id);
    await until(async () => (await find(id)) === undefined);
  });
});

describe('bulk revocation', () => {
  it('revokes all leases and tokens below a prefix and nothing else', async () => {
    const { record } = await mint();
    const inside = await Promise.all(['a', 'b'].map((name) => lease(record, `bulk-${name}`, 0, 'engine/bulk/x')));
    const neighbour = await lease(record, 'bulk-neighbour', 0, 'engine/bulky/x');
    const login = await mint(undefined, { path: 'auth/people/login/bob' });
    expect(await leases.revokePrefix(ROOT_NAMESPACE_ID, 'engine/bulk/')).toMatchObject({ left: 0, failed: 0 });
    for (const { id } of inside) expect(await find(id)).toBeUndefined();
    expect(await find(neighbour.id)).toBeDefined();
    const child = await mint(login.record, { path: 'auth/token/create' });
    slow = 'token:marked';
    await leases.revokePrefix(ROOT_NAMESPACE_ID, 'auth/people');
    slow = undefined;
    expect(await tokens.find(login.token)).toBeUndefined();
    expect(await tokens.find(child.token)).toBeUndefined();
  });

  it('says which lease failed and why; forced, it deletes them anyway', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'held', 0, 'engine/held/x');
    outside.refuses = new Error('held up');
    const outcome = await leases.revokePrefix(ROOT_NAMESPACE_ID, 'engine/held');
    expect(outcome).toMatchObject({ left: 1, failed: 1, failure: { id, reason: 'held up' } });
    expect(await find(id)).toBeDefined();
    expect(await leases.revokePrefix(ROOT_NAMESPACE_ID, 'engine/held', { forced: true })).toMatchObject({ left: 0 });
    expect(await find(id)).toBeUndefined();
    outside.refuses = undefined;
  });

  it('accepts a full lease id as a prefix', async () => {
    const { id } = await lease(undefined, 'whole');
    await leases.revokePrefix(ROOT_NAMESPACE_ID, id);
    expect(await find(id)).toBeUndefined();
  });

  it('deletes a lease by its full id when it is forced and the outside system refuses', async () => {
    const { id } = await lease(undefined, 'whole-forced');
    outside.refuses = new Error('held up');
    await expect(leases.revokePrefix(ROOT_NAMESPACE_ID, id)).rejects.toThrow('held up');
    expect(await find(id)).toMatchObject({ state: 'live' });
    await leases.revokePrefix(ROOT_NAMESPACE_ID, id, { forced: true });
    expect(await find(id)).toBeUndefined();
  });
});

describe('a revocation that is requested while an earlier attempt fails', () => {
  /** Different for each test, because a revocation in the background also revokes leases that are created soon. */
  let prefix: string;
  beforeEach(() => {
    prefix = `engine/${randomUUID()}`;
  });
  const attempts = {
    'by id': (id: string) => void leases.revoke(ROOT_NAMESPACE_ID, id).catch(() => {}),
    queued: (id: string) => void leases.revoke(ROOT_NAMESPACE_ID, id, { queued: true }),
  };
  const requests: Record<string, (id: string, owner: TokenRecord) => Promise<unknown>> = {
    'of the prefix': () => leases.revokePrefix(ROOT_NAMESPACE_ID, prefix, { waitMs: 0 }),
    'of the prefix, forced': () => leases.revokePrefix(ROOT_NAMESPACE_ID, prefix, { forced: true, waitMs: 0 }),
    'of its token': (_id, owner) => leases.endToken(owner),
    'of its id, queued': (id) => leases.revoke(ROOT_NAMESPACE_ID, id, { queued: true }),
  };

  for (const [attempt, begin] of Object.entries(attempts)) {
    for (const [request, ask] of Object.entries(requests)) {
      it(`is not lost: ${attempt}, then ${request}`, async () => {
        const { record } = await mint();
        const name = `${attempt}, ${request}`;
        const { id } = await lease(record, name, 0, `${prefix}/x`);
        let fail: ((error: Error) => void) | undefined;
        outside.holds = (one) => {
          if (one !== name || fail) return undefined;
          return new Promise<void>((_, reject) => {
            fail = reject;
          });
        };
        begin(id);
        await until(() => fail !== undefined);
        await expect(leases.renew(ROOT_NAMESPACE_ID, id, 10)).rejects.toThrow('lease expired');
        await ask(id, record);
        fail!(new Error('no such luck'));
        // A failed attempt is repeated within 15 s. The lease would expire after 100 s.
        const retried = time + 60_000;
        await until(async () => {
          time = Math.min(time + 500, retried);
          return (await find(id)) === undefined;
        }, 15_000);
        expect(outside.ended).toContain(name);
      });
    }
  }

  it('is not reported as failed by the earlier attempt if it is forced', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'overtaken', 0, `${prefix}/y`);
    const failures: ((error: Error) => void)[] = [];
    outside.holds = (name) => {
      if (name !== 'overtaken') return undefined;
      return new Promise<void>((_, reject) => void failures.push(reject));
    };
    await leases.revoke(ROOT_NAMESPACE_ID, id, { queued: true });
    await until(() => failures.length === 1);
    const forced = leases.revokePrefix(ROOT_NAMESPACE_ID, prefix, { forced: true });
    await until(() => failures.length === 2);
    failures[0]!(new Error('the first'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    failures[1]!(new Error('the second'));
    expect(await forced).toMatchObject({ left: 0, failed: 0 });
    expect(await find(id)).toBeUndefined();
  });
});

describe('ending a token', () => {
  it('revokes its descendants and their leases, and deletes their cubbyholes', async () => {
    const root = await mint();
    const child = await mint(root.record);
    const grandchild = await mint(child.record);
    const other = await mint();
    await lease(grandchild.record, 'of-grandchild');
    const set = newWriteSet();
    for (const { record } of [grandchild, other]) {
      add(set, 'puts', { mountId: privateMount, path: `${record.key}/note`, value: Buffer.from('x') });
    }
    await commit(set);
    await leases.endToken(root.record);
    for (const { token } of [root, child, grandchild]) expect(await tokens.find(token)).toBeUndefined();
    expect(await tokens.find(other.token)).toBeDefined();
    expect(await test.storage.entries.list(privateMount, '')).toEqual([`${other.record.key}/`]);
    await until(() => outside.ended.includes('of-grandchild'));
    await leases.endToken(root.record);
  });

  it('allows no new children or leases from the moment it begins', async () => {
    // If this failed, a child written at the moment of the revocation would outlive its parent.
    for (let round = 0; round < 10; round++) {
      const parent = await mint();
      const children = Promise.allSettled(
        Array.from({ length: 20 }, async (_, index) => {
          await new Promise((resolve) => setTimeout(resolve, index / 4));
          return index % 2
            ? (await mint(parent.record)).record.hash
            : (await lease(parent.record, `late-${round}-${index}`)).id;
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 2));
      await leases.endToken(parent.record);
      for (const childToken of await children) {
        if (childToken.status === 'rejected') expect(childToken.reason).toMatchObject({ kind: 'denied' });
      }
      const [tokenCount] = await test.byHand('SELECT count(*)::int AS n FROM token WHERE parent_hash = $1', [
        parent.record.hash,
      ]);
      expect(tokenCount!.n).toBe(0);
      const [leaseCount] = await test.byHand(
        'SELECT count(*)::int AS n FROM lease WHERE token_hash = $1 AND state = 0',
        [parent.record.hash],
      );
      expect(leaseCount!.n).toBe(0);
    }
  });

  it('without its children makes them orphans', async () => {
    const parent = await mint();
    const child = await mint(parent.record);
    await tokens.find(child.token);
    expect(await leases.tokens.endAlone(parent.record.hash)).toBe(true);
    expect(await tokens.find(parent.token)).toBeUndefined();
    await until(async () => (await tokens.find(child.token))?.orphan === true);
    expect(await leases.tokens.endAlone(parent.record.hash)).toBe(false);
  });

  it('happens when its time is over', async () => {
    const parent = await mint(undefined, { ttlSeconds: 10 });
    const child = await mint(parent.record);
    await lease(child.record, 'of-expired');
    time += 11_000;
    await until(() => outside.ended.includes('of-expired'));
    expect(await tokens.find(child.token)).toBeUndefined();
    await until(
      async () => (await test.byHand('SELECT 1 FROM token WHERE hash = $1', [parent.record.hash])).length === 0,
    );
  });

  it.each(['token:marked', 'token:leases', 'token:private', 'token:gone'])(
    'continues after a crash at %s',
    async (place) => {
      const parent = await mint();
      const child = await mint(parent.record);
      await lease(child.record, `crash-${place}`);
      crash = place;
      await expect(leases.endToken(parent.record)).rejects.toThrow('stopped at');
      crash = undefined;
      expect(await tokens.find(parent.token)).toBeUndefined();
      time += 20_000;
      await until(() => outside.ended.includes(`crash-${place}`));
      await until(
        async () =>
          (await test.byHand('SELECT 1 FROM token WHERE hash = ANY($1)', [[parent.record.hash, child.record.hash]]))
            .length === 0,
      );
    },
  );

  it('with thousands of children ends them all', async () => {
    const parent = await mint();
    await Promise.all(Array.from({ length: 1500 }, () => mint(parent.record)));
    const family = async () => {
      const { hash } = parent.record;
      return (await test.byHand('SELECT 1 FROM token WHERE hash = $1 OR parent_hash = $1', [hash])).length;
    };
    expect(await family()).toBe(1501);
    await leases.endToken(parent.record);
    expect(await family()).toBe(0);
  });
});

describe('listing leases', () => {
  it('shows folders, then tails; tokens as hashes', async () => {
    const { record } = await mint(undefined, { path: 'auth/list/login/x' });
    const childToken = await Promise.all(
      ['a', 'a-b', 'a/c'].map((name) => lease(record, name, 0, `engine/list/${name}`)),
    );
    const list = (prefix: string, page = {}) => leases.list(ROOT_NAMESPACE_ID, prefix, page);
    expect(await list('engine/list/')).toEqual(['a-b/', 'a/']);
    expect(await list('engine/list/', { limit: 1 })).toEqual(['a-b/']);
    expect(await list('engine/list/', { after: 'a-b/' })).toEqual(['a/']);
    expect(await list('engine/list/a/')).toEqual([childToken[0]!.id.slice('engine/list/a/'.length), 'c/'].sort());
    const [tail] = await list('auth/list/login/x/');
    expect(tail).toBe(`h${record.key}`);
    await leases.revoke(ROOT_NAMESPACE_ID, `auth/list/login/x/${tail}`);
    expect(await list('auth/list/')).toEqual([]);
  });
});

describe('an intent', () => {
  async function record(name: string, later?: boolean): Promise<string> {
    const id = randomUUID();
    const set = newWriteSet();
    add(set, 'intents', { id, mountId: mount.uuid, kind: 'thing', undo: { name }, later });
    await commit(set);
    return id;
  }
  const undone = (name: string) => outside.undone.filter((undo) => (undo as { name: string }).name === name).length;
  const there = async (id: string) => (await rowsOf(`intent WHERE id = '${id}'`)) === 1;

  it('waits while its node is alive, and is deleted once it is settled', async () => {
    const running = await record('running');
    const settled = await record('settled');
    const end = newWriteSet();
    add(end, 'settled', settled);
    await commit(end);
    const later = await record('later', true);
    time += 6 * 60_000;
    await until(async () => !(await there(later)));
    expect([undone('running'), undone('settled'), undone('later')]).toEqual([0, 0, 1]);
    time += 30 * 60_000;
    await until(async () => !(await there(running)));
    expect(undone('running')).toBe(1);
  });

  it('of a failed call is undone at once, and again when no outside call can still be running', async () => {
    const lost = await record('lost');
    await leases.abandonIntents([lost]);
    await until(() => undone('lost') === 1);
    expect(await there(lost)).toBe(true);
    const late = newWriteSet();
    add(late, 'settled', lost);
    add(late, 'puts', { mountId: mount.uuid, path: 'late', value: Buffer.from('x') });
    await expect(commit(late)).rejects.toMatchObject({ kind: 'timeout' });
    expect(await test.storage.entries.read({ mountId: mount.uuid, path: 'late' })).toBeUndefined();
    time += 6 * 60_000;
    await until(async () => !(await there(lost)));
    expect(undone('lost')).toBe(2);
  });

  it('of an ended node is undone at once', async () => {
    const orphan = await record('orphan');
    await test.byHand('UPDATE intent SET owner = $2 WHERE id = $1', [orphan, randomUUID()]);
    await until(() => undone('orphan') === 1);
    expect(await there(orphan)).toBe(true);
    await test.byHand('DELETE FROM intent');
  });

  it('of a hanging system does not delay those of others', async () => {
    const backend = { ...mount.backend, undo: { thing: () => new Promise<void>(() => {}) } };
    const stuck: LiveMount = { ...mount, uuid: randomUUID(), backend };
    hanging = stuck;
    const set = newWriteSet();
    for (let n = 0; n < 40; n++) {
      add(set, 'intents', {
        id: randomUUID(),
        mountId: hanging.uuid,
        kind: 'thing',
        undo: { name: 'hangs' },
        later: true,
      });
    }
    add(set, 'intents', { id: randomUUID(), mountId: mount.uuid, kind: 'thing', undo: { name: 'other' }, later: true });
    await commit(set);
    time += 6 * 60_000;
    await until(() => undone('other') === 1);
    await test.byHand('DELETE FROM intent');
  });
});

describe('several nodes', () => {
  it('end each due lease once', async () => {
    const other = await test.another({ clock });
    const elsewhere = new Leases(other, hosts());
    expect(elsewhere.queued).toBe(0);
    const { record } = await mint();
    await Promise.all(Array.from({ length: 300 }, (_, index) => lease(record, `shared-${index}`, 5)));
    time += 6000;
    await until(() => outside.ended.filter((name) => name.startsWith('shared-')).length >= 300);
    await until(
      async () => (await test.byHand(`SELECT 1 FROM lease WHERE token_hash = $1`, [record.hash])).length === 0,
    );
    const ended = outside.ended.filter((name) => name.startsWith('shared-'));
    expect(new Set(ended).size).toBe(ended.length);
    elsewhere.stop();
    await other.stop();
  });

  it('take over the claims of a dead node', async () => {
    const { record } = await mint();
    const { id } = await lease(record, 'orphaned', 5);
    await test.byHand('UPDATE lease SET due_at_ms = $1, state = 1, claimed_by = $2 WHERE token_hash = $3', [
      time + 3600_000,
      randomUUID(),
      record.hash,
    ]);
    await until(async () => (await find(id)) === undefined);
    expect(outside.ended).toContain('orphaned');
  });
});
