import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { freshStorage, type TestStorage } from '../../../test/fresh-storage';
import type { Namespace } from '../namespaces/namespaces';
import { ROOT_NAMESPACE_ID } from '../storage/types';
import { newWriteSet } from '../storage/write-set';
import { StoredTokens } from '../tokens/tokens';
import { Wrapping } from './wrapping';

const namespace = { uuid: ROOT_NAMESPACE_ID, id: 'root', path: '', parentUuid: undefined } as Namespace;
const clock = manualClock(Date.now());
const privateMountId = randomUUID();
const ended: string[] = [];
let test: TestStorage;
let wrapping: Wrapping;
let tokens: StoredTokens;

beforeAll(async () => {
  test = await freshStorage({ clock });
  tokens = new StoredTokens(test.storage, { within: (outer, inner) => outer === inner });
  wrapping = new Wrapping(test.storage, tokens, {
    privateMountId: () => privateMountId,
    findNamespace: () => namespace,
    within: (outer, inner) => outer === inner,
    endToken: async (record) => void ended.push(record.key),
  });
});
afterAll(() => test.close());

const notValid = { kind: 'invalid', message: 'wrapping token is not valid or does not exist' };

async function wrap(envelope = '{"data":{"a":"b"}}', ttlSeconds = 60) {
  const set = newWriteSet();
  const wrapped = wrapping.wrap({ envelope, namespace, path: 'cubbyhole/a', ttlSeconds }, set);
  await test.storage.committer.commit(set);
  return wrapped;
}

describe('a wrapped answer', () => {
  it('can be looked up without being unwrapped', async () => {
    const { token, createdAtMs } = await wrap();
    const facts = { creationPath: 'cubbyhole/a', createdAtMs, ttlSeconds: 60 };
    expect(await wrapping.lookup(ROOT_NAMESPACE_ID, token)).toEqual(facts);
    expect(await wrapping.lookup(ROOT_NAMESPACE_ID, token)).toEqual(facts);
  });

  it('is unwrapped once, and its token revoked', async () => {
    const { token } = await wrap();
    const key = (await tokens.find(token))!.key;
    expect(await wrapping.unwrap(ROOT_NAMESPACE_ID, token)).toBe('{"data":{"a":"b"}}');
    expect(ended).toContain(key);
    await expect(wrapping.unwrap(ROOT_NAMESPACE_ID, token)).rejects.toMatchObject(notValid);
    await expect(wrapping.lookup(ROOT_NAMESPACE_ID, token)).rejects.toMatchObject(notValid);
  });

  it('is unwrapped once under simultaneous requests', async () => {
    // If this failed, anyone who intercepts the token could also read the answer, unnoticed.
    const { token } = await wrap();
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => wrapping.unwrap(ROOT_NAMESPACE_ID, token)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of tries) if (one.status === 'rejected') expect(one.reason).toMatchObject(notValid);
  });

  it('moves to a new token, and the old token becomes invalid', async () => {
    const { token } = await wrap();
    const again = await wrapping.rewrap(ROOT_NAMESPACE_ID, token);
    await expect(wrapping.unwrap(ROOT_NAMESPACE_ID, token)).rejects.toMatchObject(notValid);
    expect(await wrapping.unwrap(ROOT_NAMESPACE_ID, again.token)).toBe('{"data":{"a":"b"}}');
  });

  it('expires', async () => {
    const { token } = await wrap('{}', 1);
    clock.advance(1000);
    await expect(wrapping.unwrap(ROOT_NAMESPACE_ID, token)).rejects.toMatchObject(notValid);
  });

  it('cannot be unwrapped with another kind of token', async () => {
    const set = newWriteSet();
    const { token } = tokens.mint(
      {
        type: 'service',
        namespaceId: ROOT_NAMESPACE_ID,
        namespaceShortId: '',
        path: 'auth/token/create',
        displayName: 'token',
        policies: ['response-wrapping'],
        ttlSeconds: 60,
        renewable: false,
        numUses: 1,
      },
      set,
    );
    await test.storage.committer.commit(set);
    await expect(wrapping.unwrap(ROOT_NAMESPACE_ID, token)).rejects.toMatchObject(notValid);
    expect((await tokens.find(token))?.usesLeft).toBe(1);
  });
});
