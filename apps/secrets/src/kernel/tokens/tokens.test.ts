import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { freshStorage, type TestStorage, whileHearing } from '../../../test/fresh-storage';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { newWriteSet } from '../storage/write-set';
import { StoredTokens } from './tokens';
import { remainingSeconds } from './ttl';
import type { TokenSpec } from './types';

const clock = manualClock(Date.now());
let test: TestStorage;
let tokens: StoredTokens;

beforeAll(async () => {
  test = await freshStorage({ clock });
  tokens = new StoredTokens(test.storage, { within: (outer, inner) => outer === inner });
});
afterAll(() => test.close());

const spec = (more: Partial<TokenSpec> = {}): TokenSpec => ({
  type: 'service',
  namespaceId: ROOT_NAMESPACE_ID,
  namespaceShortId: '',
  path: 'auth/token/create',
  displayName: 'token',
  policies: ['default'],
  ttlSeconds: 3600,
  renewable: true,
  ...more,
});

async function mint(more: Partial<TokenSpec> = {}) {
  const set = newWriteSet();
  const minted = tokens.mint(spec(more), set);
  await test.storage.committer.commit(set);
  return minted;
}

describe('a service token', () => {
  it('is found by its text and by its accessor', async () => {
    const { token, record } = await mint({ meta: { a: 'b' }, boundCidrs: ['10.0.0.0/8'], explicitMaxTtlSeconds: 7200 });
    expect(token).toMatch(/^s\.[0-9A-Za-z]{24}$/);
    expect(record.accessor).toMatch(/^[0-9A-Za-z]{24}$/);
    expect(await tokens.find(token)).toEqual(record);
    expect(await tokens.findByAccessor(record.namespaceId, record.accessor)).toEqual(record);
    expect(await tokens.find(`${token}x`)).toBeUndefined();
  });

  it('ends in the id of its namespace', async () => {
    expect((await mint({ namespaceShortId: 'hDU816' })).token).toMatch(/^s\.[0-9A-Za-z]{24}\.hDU816$/);
  });

  it('is not in the database, nor is its accessor', async () => {
    // If this failed, a copy of the database would contain usable tokens.
    const { token, record } = await mint();
    const rows = await test.byHand('SELECT t.*::text AS row FROM token t');
    const dump = JSON.stringify(rows);
    for (const secret of [token, token.slice(2), record.accessor]) {
      expect(dump).not.toContain(secret);
      expect(dump).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  it('expires', async () => {
    const { token } = await mint({ ttlSeconds: 1 });
    expect(await tokens.find(token)).toBeDefined();
    clock.advance(1000);
    expect(await tokens.find(token)).toBeUndefined();
  });

  it('is looked up without the database once it is cached', async () => {
    await whileHearing(test.storage, async () => {
      const { token, record } = await mint();
      await tokens.find(token);
      const originalQuery = test.storage.database.query;
      test.storage.database.query = () => Promise.reject(new Error('the database was asked'));
      try {
        expect((await tokens.find(token))?.key).toBe(record.key);
      } finally {
        test.storage.database.query = originalQuery;
      }
    });
  });

  it('with an id that is taken is refused', async () => {
    await mint({ id: 'mine' });
    await expect(mint({ id: 'mine' })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'cannot create a token with a duplicate ID',
    });
  });

  it('cannot be created below a deleted parent, and does not fail the rest of the batch', async () => {
    const parent = await mint();
    await test.byHand('UPDATE token SET state = 1 WHERE hash = $1', [parent.record.hash]);
    const [child, other] = await Promise.allSettled([mint({ parent: parent.record }), mint()]);
    expect(child).toMatchObject({ status: 'rejected', reason: { kind: 'denied' } });
    expect(other.status).toBe('fulfilled');
  });

  it('changed by hand to live longer is noticed', async () => {
    const { token, record } = await mint();
    await test.byHand('UPDATE token SET expires_at_ms = expires_at_ms + 1000 WHERE hash = $1', [record.hash]);
    await expect(tokens.find(token)).rejects.toThrow('was changed in the database');
  });
});

describe('a token with a number of uses', () => {
  it('counts its uses down, and shows -1 at the last use', async () => {
    const { token } = await mint({ numUses: 2 });
    const first = await tokens.spend((await tokens.find(token))!);
    expect(first.usesLeft).toBe(1);
    const last = await tokens.spend((await tokens.find(token))!);
    expect(last.usesLeft).toBe(-1);
    const ended = (await tokens.find(token))!;
    expect(ended.usesLeft).toBe(-1);
    await expect(tokens.spend(ended)).rejects.toMatchObject({ kind: 'denied' });
  });

  it('gives its last use to one of many simultaneous callers', async () => {
    const { token } = await mint({ numUses: 1 });
    const record = (await tokens.find(token))!;
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => tokens.spend(record)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of tries) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ kind: 'denied', message: 'permission denied' });
    }
  });
});

describe('a batch token', () => {
  it('contains its own data and is not stored', async () => {
    const before = await test.byHand('SELECT count(*) FROM token');
    const { token, record } = await mint({ type: 'batch', meta: { a: 'b' } });
    expect(token).toMatch(/^b\.[\w-]+$/);
    expect(record).toMatchObject({ accessor: '', renewable: false });
    expect(await tokens.find(token)).toEqual(record);
    expect(await test.byHand('SELECT count(*) FROM token')).toEqual(before);
    const forged = Buffer.from(token.slice(2), 'base64url');
    forged[forged.length - 1]! ^= 1;
    expect(await tokens.find(`b.${forged.toString('base64url')}`)).toBeUndefined();
    expect(await tokens.find('b.')).toBeUndefined();
  });

  it('ends with its parent', async () => {
    const parent = await mint();
    const { token } = await mint({ type: 'batch', parent: parent.record });
    expect(await tokens.find(token)).toBeDefined();
    await test.byHand('UPDATE token SET state = 1 WHERE hash = $1', [parent.record.hash]);
    test.storage.changes.apply([{ topic: 'token', key: parent.record.key }]);
    expect(await tokens.find(token)).toBeUndefined();
  });
});

describe('accessors', () => {
  const accessorOf = ({ accessor }: { readonly accessor: string }) => accessor;
  it('are listed whole or in pages', async () => {
    const namespaceId = '11111111-1111-4111-8111-111111111111';
    const children = await Promise.all(Array.from({ length: 7 }, () => mint({ namespaceId })));
    const all = children.map(({ record }) => record.accessor).sort();
    expect((await tokens.listLive(namespaceId, accessorOf)).sort()).toEqual(all);
    const paged: string[] = [];
    for (;;) {
      const page = await tokens.listLive(namespaceId, accessorOf, { after: paged.at(-1), limit: 3 });
      paged.push(...page);
      if (page.length < 3) break;
    }
    expect(paged.sort()).toEqual(all);
  });
});

describe('the remaining lifetime', () => {
  it.each([
    [undefined, 0],
    [3_600_000, 3600],
    [1, 1],
    [0, 0],
    [-5000, 0],
    [1001, 2],
  ])('of %p ms is %p s', (remainingMs, seconds) => {
    expect(remainingSeconds(remainingMs === undefined ? undefined : 1000 + remainingMs, 1000)).toBe(seconds);
  });
});
