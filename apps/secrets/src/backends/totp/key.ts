import { type Algorithm, type CodeScheme, fromBase32, matchCounter } from '@keystead/auth';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';

/** A key, with how codes are made from it; fields that answers know have their names there. */
export interface TotpKey {
  /** Base32. */
  readonly key: string;
  readonly issuer: string;
  readonly account_name: string;
  readonly period: number;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  readonly skew: number;
}

/** The codes that have counted, each with when it can be forgotten. */
type SpentCodes = Readonly<Record<string, number>>;

const prefix = 'key/';
const spentAt = (name: string): string => `spent/${name}`;
const parseKey = JSON.parse as (text: string) => TotpKey;
const parseSpent = JSON.parse as (text: string) => SpentCodes;

/** Clocks of nodes differ: a code is remembered for this many periods after it could last be valid. */
const periodsKept = 10;

/** The names of the keys, bytewise sorted. */
export const listKeys = (storage: Storage, page: Parameters<Storage['list']>[1]): Promise<string[]> =>
  storage.list(prefix, page);

/** The key of a name, if there is one. */
export const findKey = (storage: Storage, name: string): Promise<TotpKey | undefined> =>
  storage.read(prefix + name, parseKey);

/** As findKey; throws `invalid` for none. */
export const requireKey = async (storage: Storage, name: string): Promise<TotpKey> =>
  (await findKey(storage, name)) ?? refuse(`unknown key: ${name}`);

/** Keeps a key. Codes that have counted stay so, in case it is the same key again. */
export const putKey = (storage: Storage, name: string, key: TotpKey): void =>
  storage.put(prefix + name, JSON.stringify(key));

/** Forgets a key and its codes. */
export function deleteKey(storage: Storage, name: string): void {
  storage.delete(prefix + name);
  storage.delete(spentAt(name));
}

/** How codes of a key are made. */
export const schemeOf = ({ key, algorithm, digits, period }: TotpKey): CodeScheme => ({
  key: fromBase32(key),
  algorithm,
  digits,
  periodSeconds: period,
});

/** Uses up a code, which counts once among all nodes: undefined for a wrong one; throws `invalid` for one that has counted. */
export async function spendCode(
  storage: Storage,
  name: string,
  code: string,
  nowMs: number,
): Promise<true | undefined> {
  const counterOf = (key: TotpKey) => matchCounter(schemeOf(key), code, nowMs, key.skew);
  if (counterOf(await requireKey(storage, name)) === undefined) return undefined;
  return storage.transaction(spentAt(name), async (tx) => {
    const spent = (await tx.read(spentAt(name), parseSpent)) ?? {};
    // It may have become another key meanwhile.
    const key = await requireKey(tx, name);
    const counter = counterOf(key);
    if (counter === undefined) return undefined;
    if (Object.hasOwn(spent, code)) refuse('code already used; wait until the next time period');
    const kept = Object.entries(spent).filter(([, untilMs]) => untilMs > nowMs);
    const untilMs = (counter + 1 + key.skew + periodsKept) * key.period * 1000;
    tx.put(spentAt(name), JSON.stringify(Object.fromEntries([...kept, [code, untilMs]])));
    return true;
  });
}
