import { beforeEach, describe, expect, it } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import type { CanonicalPath } from '../../sdk/canonical-path';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { Access, type AccessNeeds, type AccessQuery, type Identified } from './access';
import { rootAccess } from './access-list';
import { parsePolicy } from './parse-policy';
import { maxRulesOfCaller } from './policy-size';
import type { AccessList } from './types';

type Stored = { text: string; expiresAtMs?: number; namespaceId?: string };

/** An in-memory store that counts reads and records changes by epoch. */
class Policies {
  epoch = 1;
  reads = 0;
  fresh = true;
  nowMs = 1_000;
  readonly policies = new Map<string, Stored>();
  readonly changedAt = new Map<string, number>();

  put(name: string, text: string, more: Partial<Stored> = {}): void {
    this.policies.set(name, { text, ...more });
    this.epoch += 1;
    this.changedAt.set(name, this.epoch);
  }

  async *findAll(namespaceId: string, names: readonly string[]) {
    this.reads += 1;
    for (const name of names) {
      const stored = this.policies.get(name);
      if (stored === undefined || (stored.namespaceId ?? ROOT_NAMESPACE_ID) !== namespaceId) continue;
      yield { name, text: stored.text, expiresAtMs: stored.expiresAtMs, policy: parsePolicy(stored.text) };
    }
  }

  unchangedSince(epoch: number, groups: readonly { names: readonly string[] }[]): boolean {
    return groups.every(({ names }) => names.every((name) => (this.changedAt.get(name) ?? 0) <= epoch));
  }
}

let policies: Policies;
let access: Access;
const namespaces: Record<string, string> = { [ROOT_NAMESPACE_ID]: '', team: 'team/' };

beforeEach(() => {
  policies = new Policies();
  access = new Access({
    policies: policies as unknown as AccessNeeds['policies'],
    notices: {
      get fresh() {
        return policies.fresh;
      },
    },
    clock: { now: () => policies.nowMs },
    namespacePath: (id) => namespaces[id],
  });
  policies.put('reader', 'path "sec/a" { capabilities = ["read"] }');
});

const query = (names: readonly string[], more: Partial<AccessQuery> = {}): AccessQuery => ({
  namespaceId: ROOT_NAMESPACE_ID,
  policies: names,
  ...more,
});
const identity = (id: string, groups: Identified['policies'] = []): Identified => ({
  entityId: id,
  subject: { entity: { id, name: id, metadata: {}, aliases: [] }, groups: [] },
  policies: groups,
});
const may = (list: AccessList | undefined, path: string) =>
  list?.decide({ path: path as CanonicalPath, operation: 'read' }).allowed;

describe('the access of a caller', () => {
  it('is that of the policies, each in its namespace, and of the identity', async () => {
    policies.put('writer', 'path "sec/b" { capabilities = ["read"] }', { namespaceId: 'team' });
    const list = await access.of(
      query(['reader'], { identity: identity('me', [{ namespaceId: 'team', names: ['writer'] }]) }),
    );
    expect([may(list, 'sec/a'), may(list, 'team/sec/b'), may(list, 'sec/b')]).toEqual([true, true, false]);
  });

  it('is empty for a deleted namespace, and without policies', async () => {
    policies.put('lost', 'path "sec/b" { capabilities = ["read"] }', { namespaceId: 'gone' });
    const groups = [{ namespaceId: 'gone', names: ['lost'] }];
    const list = await access.of(query(['reader', 'none'], { identity: identity('me', groups) }));
    expect([may(list, 'sec/a'), may(list, 'sec/b'), may(list, 'gone/sec/b')]).toEqual([true, false, false]);
    expect(list.rules.map(({ pattern }) => pattern)).toEqual(['sec/a']);
  });

  it('is everything only for root, and only in the first namespace', async () => {
    expect(access.peek(query(['root']))).toBe(rootAccess);
    expect(await access.of(query(['root']))).toBe(rootAccess);
    expect(access.peek(query(['root'], { namespaceId: 'team' }))).toBeUndefined();
    expect(access.peek(query(['root', 'reader']))).toBeUndefined();
    expect(access.peek(query([]))).toBeUndefined();
    expect((await access.of(query(['root'], { namespaceId: 'team' }))).root).toBe(false);
  });

  it('is cached for all callers until one of its policies changes', async () => {
    const names = ['reader'];
    expect(access.peek(query(names))).toBeUndefined();
    const first = await access.of(query(names));
    expect(access.peek(query(names))).toBe(first);
    expect(await access.of(query(names))).toBe(first);
    // A different set of names needs a new list, but its policies are already cached.
    expect(access.peek(query(['reader']))).toBeUndefined();
    expect(may(await access.of(query(['reader'])), 'sec/a')).toBe(true);
    expect(policies.reads).toBe(1);
    policies.put('other', 'path "x" { capabilities = ["read"] }');
    expect(access.peek(query(names))).toBeDefined();
    policies.put('reader', 'path "sec/b" { capabilities = ["read"] }');
    expect(access.peek(query(names))).toBeUndefined();
    const second = await access.of(query(names));
    expect([may(second, 'sec/a'), may(second, 'sec/b')]).toEqual([false, true]);
    expect(policies.reads).toBe(2);
  });

  it('counts names once, in any order', async () => {
    policies.put('second', 'path "sec/b" { capabilities = ["read"] }');
    await access.of(query(['reader', 'second']));
    await access.of(query(['second', 'reader', 'second']));
    const own = [{ namespaceId: ROOT_NAMESPACE_ID, names: ['second'] }];
    expect(may(await access.of(query(['reader'], { identity: identity('me', own) })), 'sec/b')).toBe(true);
    expect(policies.reads).toBe(1);
  });

  it('is not taken from the cache while changes of other nodes may be missing', async () => {
    const names = ['reader'];
    await access.of(query(names));
    policies.fresh = false;
    expect(access.peek(query(names))).toBeUndefined();
    await access.of(query(names));
    expect(policies.reads).toBe(2);
    policies.fresh = true;
    expect(access.peek(query(names))).toBeDefined();
  });

  it('ends with a policy that expires, and with a rule that expires', async () => {
    const names = ['brief'];
    const block =
      'path "sec/a" { capabilities = ["read"] }\npath "sec/b" { capabilities = ["read"]\nexpiration = "1970-01-02" }';
    policies.put('brief', block, { expiresAtMs: 5_000 });
    const list = await access.of(query(names));
    expect([may(list, 'sec/a'), list.validUntilMs]).toEqual([true, 5_000]);
    policies.nowMs = 4_999;
    expect(access.peek(query(names))).toBe(list);
    policies.nowMs = 5_000;
    expect(access.peek(query(names))).toBeUndefined();
    const after = await access.of(query(names));
    expect([may(after, 'sec/a'), may(after, 'sec/b')]).toEqual([false, false]);
    // A rule that ends before its policy.
    policies.put('brief', block, { expiresAtMs: 200_000_000 });
    const rules = await access.of(query(names));
    expect([may(rules, 'sec/a'), may(rules, 'sec/b'), rules.validUntilMs]).toEqual([true, true, 86_400_000]);
    policies.nowMs = 86_400_000;
    const later = await access.of(query(names));
    expect([may(later, 'sec/a'), may(later, 'sec/b'), later.validUntilMs]).toEqual([true, false, 200_000_000]);
  });

  it('is shared by callers without templates, and separate for others', async () => {
    const [one, other] = [identity('one'), identity('other')];
    const readers = ['reader'];
    const shared = await access.of(query(readers, { identity: one }));
    expect(shared.validUntilMs).toBeUndefined();
    expect(access.peek(query(readers, { identity: one }))).toBe(shared);
    expect(await access.of(query(['reader'], { identity: other }))).toBe(shared);
    policies.put('own', 'path "home/{{identity.entity.id}}" { capabilities = ["read"] }');
    const names = ['own'];
    const ofOne = await access.of(query(names, { identity: one }));
    const ofOther = await access.of(query(names, { identity: other }));
    expect([may(ofOne, 'home/one'), may(ofOne, 'home/other')]).toEqual([true, false]);
    expect([may(ofOther, 'home/one'), may(ofOther, 'home/other')]).toEqual([false, true]);
    expect(access.peek(query(names, { identity: one }))).toBe(ofOne);
    // A changed identity is a new object.
    expect(access.peek(query(names, { identity: identity('one') }))).toBeUndefined();
    const renewed = identity('one');
    expect(may(await access.of(query(names, { identity: renewed })), 'home/one')).toBe(true);
    expect(access.peek(query(names, { identity: one }))).toBeUndefined();
    expect(may(await access.of(query(names)), 'home/one')).toBe(false);
  });

  it('is refused if a caller has too many rules, or too much text', async () => {
    const values = Array.from({ length: 9_998 }, (_, at) => at);
    const rule = (name: string) =>
      `path "${name}" { capabilities = ["read"]\nallowed_parameters = { a = ${JSON.stringify(values)} } }`;
    const names = ['p0', 'p1', 'p2', 'p3', 'p4'];
    for (const name of names) policies.put(name, rule(name));
    expect(may(await access.of(query(names)), 'p4')).toBe(true);
    // Exactly 50,000 rules are allowed; one more is refused.
    policies.put('p5', 'path "p5" { capabilities = ["read"] }');
    const refusal = new Refusal(
      'denied',
      `permission denied: the policies of the caller have more than ${maxRulesOfCaller} rules, or are too long`,
    );
    await expect(access.of(query([...names, 'p5']))).rejects.toEqual(refusal);
    await expect(access.of(query([...names, 'p5']))).rejects.toHaveProperty('kind', 'denied');
    // Expired policies do not count.
    policies.put('p5', 'path "p5" { capabilities = ["read"] }', { expiresAtMs: policies.nowMs });
    expect(may(await access.of(query([...names, 'p5'])), 'p4')).toBe(true);
    // Policies of maximum length, 16 MiB in total.
    policies.policies.clear();
    const text = 'path "x" { capabilities = ["read"] }'.padEnd(512 * 1024);
    const long = Array.from({ length: 32 }, (_, at) => `l${at}`);
    for (const name of long) policies.put(name, text);
    expect(may(await access.of(query(long)), 'x')).toBe(true);
    policies.put('more', ' ');
    await expect(access.of(query([...long, 'more']))).rejects.toEqual(refusal);
  });
});
