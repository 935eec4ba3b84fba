import { describe, expect, it } from '@jest/globals';
import type { Storage } from '../../sdk/storage';
import { decide, keep, type PendingLogin } from './pending';

const pendingFrom = (address: string): PendingLogin => ({
  role: 'any',
  mode: 'client',
  redirectUri: '',
  nonce: '',
  verifier: '',
  clientNonce: '',
  provider: '',
  address,
});

/** The storage of a mount, for one caller at a time. */
function storageOf(entries = new Map<string, string>()): Storage {
  const storage = {
    get: async (key: string) => entries.get(key),
    put: (key: string, value: string) => void entries.set(key, value),
    delete: (key: string) => void entries.delete(key),
    list: async () => [],
    transaction: (_about: string, run: (tx: unknown) => Promise<unknown>) => run(storage),
  };
  return storage as unknown as Storage;
}

describe('pending logins', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const isThere = async (storage: Storage, state: string) =>
    (await decide(storage, state, nowMs, (pending) => ({ next: pending, result: true }))) === true;

  it('are not displaced by a flood from one network', async () => {
    const storage = storageOf();
    const honest: string[] = [];
    for (let i = 0; i < 50; i++) honest.push(await keep(storage, pendingFrom(`192.0.2.${i}`), nowMs));
    for (let i = 0; i < 12_000; i++) await keep(storage, pendingFrom(`2001:db8::${(i % 60_000).toString(16)}`), nowMs);
    // Later logins also get a slot.
    for (let i = 50; i < 100; i++) honest.push(await keep(storage, pendingFrom(`192.0.2.${i}`), nowMs));
    const remaining = await Promise.all(honest.map((state) => isThere(storage, state)));
    expect(remaining.filter((there) => !there)).toEqual([]);
  });
});
