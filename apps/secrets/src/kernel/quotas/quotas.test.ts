import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseProxy } from '@keystead/testing';
import { freshStorage, type TestStorage, until } from '../../../test/fresh-storage';
import type { CanonicalPath } from '../../sdk/canonical-path';
import { type LeaseRow, ROOT_NAMESPACE_ID } from '../storage/types';
import { add, newWriteSet } from '../storage/write-set';
import { Buckets } from './buckets';
import { type NewQuota, Quotas, type RateLimited, type RateNotes } from './quotas';
import { usualRules } from './rate-rules';

const child = randomUUID();
const mountId = randomUUID();
const hosts = {
  lineage: (id: string) => (id === child ? [child, ROOT_NAMESPACE_ID] : [ROOT_NAMESPACE_ID]),
  below: (id: string) => (id === child ? [child] : [ROOT_NAMESPACE_ID, child]),
  namespacePath: (id: string) => (id === child ? 'below/' : ''),
  mountPath: (id: string) => (id === mountId ? 'engine/' : undefined),
};
let test: TestStorage;
let quotas: Quotas;

beforeAll(async () => {
  test = await freshStorage();
  quotas = new Quotas(test.storage, hosts);
});
afterAll(() => test.close());

const put = (quota: NewQuota) => quotas.change(quota.ownerId, quota.kind, quota.name, () => quota);
const rate = (name: string, more: object) =>
  put({
    kind: 'rate-limit',
    ownerId: ROOT_NAMESPACE_ID,
    name,
    rate: 2,
    intervalSeconds: 3600,
    blockSeconds: 0,
    namespaceId: ROOT_NAMESPACE_ID,
    inheritable: false,
    path: '',
    role: '',
    writtenPath: '',
    ...more,
  });
const count = (name: string, maxLeases: number, more: object = {}) =>
  put({
    kind: 'lease-count',
    ownerId: ROOT_NAMESPACE_ID,
    name,
    maxLeases,
    namespaceId: ROOT_NAMESPACE_ID,
    inheritable: false,
    mountId,
    path: '',
    role: '',
    writtenPath: 'engine',
    ...more,
  });

async function lease(role = 'ops'): Promise<Buffer> {
  const hash = Buffer.from(randomUUID());
  const facts = { namespaceId: ROOT_NAMESPACE_ID, mountId, path: `engine/creds/${role}`, role };
  const row: LeaseRow = {
    ...facts,
    hash,
    issuedAtMs: 0,
    expiresAtMs: Date.now() + 1e6,
    sealed: Buffer.alloc(1),
    quotaIds: quotas.quotasOf(facts),
  };
  const set = newWriteSet();
  add(set, 'leases', row);
  await test.storage.committer.commit(set);
  return hash;
}

describe('a rate limit', () => {
  const limit = { kind: 'rate-limit', rate: 2, intervalSeconds: 1, blockSeconds: 0 } as const;

  it('allows its rate, and again as time passes', () => {
    const buckets = new Buckets(limit);
    expect([0, 0, 0].map(() => buckets.take('a', 1000))).toEqual([true, true, false]);
    expect(buckets.take('b', 1000)).toBe(true);
    expect(buckets.take('a', 1400)).toBe(false);
    expect(buckets.take('a', 1600)).toBe(true);
  });

  it('blocks a refused client for its block interval', () => {
    const buckets = new Buckets({ ...limit, rate: 1, blockSeconds: 10 });
    expect([0, 0].map(() => buckets.take('a', 0))).toEqual([true, false]);
    expect(buckets.take('a', 9_999)).toBe(false);
    expect(buckets.take('a', 10_000)).toBe(true);
  });

  it('refuses requests where it applies, and nowhere else', async () => {
    await rate('narrow', { mountId, path: 'creds/*', rate: 1 });
    const ask = (path: string, namespaceId = ROOT_NAMESPACE_ID) =>
      quotas.check({ namespaceId, mountUuid: mountId, path: path as CanonicalPath, address: '10.0.0.1' });
    ask('engine/creds/a');
    expect(() => ask('engine/creds/b')).toThrow('request path "engine/creds/b": rate limit quota exceeded');
    ask('engine/role/a');
    ask('engine/creds/a', child);
    await quotas.delete(ROOT_NAMESPACE_ID, 'rate-limit', 'narrow');
    ask('engine/creds/a');
  });

  it('counts the addresses of one IPv6 customer as one client', async () => {
    await rate('single', { rate: 1 });
    const ask = (address: string) =>
      quotas.check({ namespaceId: ROOT_NAMESPACE_ID, mountUuid: undefined, path: 'a' as CanonicalPath, address });
    ask('2001:db8::1');
    expect(() => ask('2001:db8::2')).toThrow('rate limit quota exceeded');
    ask('2001:db8:0:1::1');
    await quotas.delete(ROOT_NAMESPACE_ID, 'rate-limit', 'single');
  });

  it('applies to child namespaces if inheritable, and exempts recovery endpoints', async () => {
    await rate('wide', { rate: 1, inheritable: true });
    const ask = (path: string, namespaceId = child) =>
      quotas.check({ namespaceId, mountUuid: undefined, path: path as CanonicalPath, address: '10.0.0.2' });
    ask('a');
    expect(() => ask('b')).toThrow('rate limit quota exceeded');
    ask('sys/health');
    await quotas.delete(ROOT_NAMESPACE_ID, 'rate-limit', 'wide');
  });

  it('never counts exempt paths, and shows the remaining requests if configured', async () => {
    await rate('wide', { rate: 2, inheritable: true });
    const ask = (path: string, namespaceId = child) => {
      const notes: RateNotes = {};
      const question = { namespaceId, mountUuid: undefined, path: path as CanonicalPath, address: '10.0.0.3' };
      try {
        quotas.check(question, notes);
      } catch (error) {
        return { ...notes.rateHeaders, audited: (error as RateLimited).audited };
      }
      return notes.rateHeaders;
    };
    const rules = { exemptPaths: ['below/open/*', 'sys/seal', 'exact'], audited: false, headers: true };
    await quotas.writeRules(rules);
    expect(await quotas.readRules()).toEqual(rules);
    for (const [path, at] of [
      ['open/a', child],
      ['sys/seal', child],
      ['sys/seal', ROOT_NAMESPACE_ID],
      ['exact', ROOT_NAMESPACE_ID],
      ['sys/quotas/config', child],
    ] as const) {
      expect(ask(path, at)).toBeUndefined();
    }
    const rateHeaders = (remaining: string) => ({ 'X-RateLimit-Limit': '2', 'X-RateLimit-Remaining': remaining });
    expect(ask('open/a', ROOT_NAMESPACE_ID)).toMatchObject({ ...rateHeaders('1'), 'X-RateLimit-Reset': '1800' });
    expect(ask('exact')).toMatchObject({ ...rateHeaders('0'), 'X-RateLimit-Reset': '1800' });
    expect(ask('sys/health')).toMatchObject({ ...rateHeaders('0'), 'Retry-After': '1800', audited: false });
    await quotas.writeRules(usualRules);
    expect(ask('exact')).toEqual({ audited: true });
    await quotas.delete(ROOT_NAMESPACE_ID, 'rate-limit', 'wide');
  });
});

describe('a lease count', () => {
  it('is enforced by the batch that writes the leases, exactly, under any concurrency', async () => {
    await count('ten', 10);
    const tries = await Promise.allSettled(Array.from({ length: 40 }, () => lease()));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    for (const one of tries) if (one.status === 'rejected') expect(one.reason).toMatchObject({ kind: 'limited' });
    expect(await quotas.find(ROOT_NAMESPACE_ID, 'lease-count', 'ten')).toMatchObject({
      leases: 10,
      quota: { maxLeases: 10 },
    });
    await quotas.delete(ROOT_NAMESPACE_ID, 'lease-count', 'ten');
  });

  it('counts leases that existed before it', async () => {
    await lease('old');
    await lease('old');
    await count('later', 3, { role: 'old' });
    expect(await quotas.find(ROOT_NAMESPACE_ID, 'lease-count', 'later')).toMatchObject({ leases: 2 });
    await lease('old');
    await expect(lease('old')).rejects.toMatchObject({ kind: 'limited' });
    await lease('other');
    await quotas.delete(ROOT_NAMESPACE_ID, 'lease-count', 'later');
  });
});

describe('quotas', () => {
  it('are known to other nodes within a second', async () => {
    const other = await test.another();
    const elsewhere = new Quotas(other, hosts);
    await elsewhere.refresh();
    await until(() => test.storage.changes.others > 0 && other.changes.fresh);
    await count('shared', 5);
    await until(() => elsewhere.quotasOf({ namespaceId: ROOT_NAMESPACE_ID, mountId, path: '', role: '' }).length > 0);
    expect(await quotas.list(ROOT_NAMESPACE_ID, 'lease-count')).toEqual(['shared']);
    await quotas.delete(ROOT_NAMESPACE_ID, 'lease-count', 'shared');
    await other.stop();
  });
});

describe('a node that gets no notice of a new limit', () => {
  it('enforces it anyway, because it polls the limits until notices arrive', async () => {
    const proxy = await DatabaseProxy.start(test.database.url);
    const other = await test.another({ url: proxy.url });
    const elsewhere = new Quotas(other, hosts);
    await elsewhere.refresh();
    await until(() => other.changes.fresh);
    proxy.hold('listener');
    const place = { namespaceId: ROOT_NAMESPACE_ID, mountId, path: 'engine/creds/deaf', role: 'deaf' };
    expect(elsewhere.quotasOf(place)).toEqual([]);
    await count('unheard', 1, { role: 'deaf' });
    await until(() => elsewhere.quotasOf(place).length === 1);
    await quotas.delete(ROOT_NAMESPACE_ID, 'lease-count', 'unheard');
    await proxy.close();
  });
});

describe('two changes of a quota at once', () => {
  it('are applied one after the other, so that neither is lost', async () => {
    await rate('turns', { rate: 1, blockSeconds: 0 });
    const change = (more: object) =>
      quotas.change(ROOT_NAMESPACE_ID, 'rate-limit', 'turns', (before) => ({ ...before!, ...more }) as NewQuota);
    await Promise.all([...Array(10)].flatMap((_, at) => [change({ rate: at + 2 }), change({ blockSeconds: at + 2 })]));
    const found = await quotas.find(ROOT_NAMESPACE_ID, 'rate-limit', 'turns');
    expect(found!.quota).toMatchObject({ rate: 11, blockSeconds: 11 });
  });
});
