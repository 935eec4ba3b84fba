import { type Algorithm, type CodeScheme, fromBase32, matchCounter } from '@keystead/auth';
import { refuse } from '../../sdk/refuse';
import type { Soon } from '../../sdk/soon';
import type { Storage } from '../../sdk/storage';

/** A key with its code settings. Fields shown in responses have the same names as there. */
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

/** Used codes, with the time when each can be deleted. */
type SpentCodes = Readonly<Record<string, number>>;

const prefix = 'key/';
const spentAt = (name: string): string => `spent/${name}`;
const parseKey = JSON.parse as (text: string) => TotpKey;
const parseSpent = JSON.parse as (text: string) => SpentCodes;

/**
 * The number of periods for which a used code is remembered after it expires. It is more than zero because the clocks
 * of nodes differ.
 */
const periodsKept = 10;

/** Key names, sorted by bytes. */
export const listKeys = (storage: Storage, page: Parameters<Storage['list']>[1]): Promise<string[]> =>
  storage.list(prefix, page);

/** Finds a key by name. */
export const findKey = (storage: Storage, name: string): Soon<TotpKey | undefined> =>
  storage.read(prefix + name, parseKey);

/** Like findKey, but throws `invalid` if the key does not exist. */
export const requireKey = async (storage: Storage, name: string): Promise<TotpKey> =>
  (await findKey(storage, name)) ?? refuse(`unknown key: ${name}`);

/** Stores a key. Used codes stay used, because it may be the same key again. */
export const putKey = (storage: Storage, name: string, key: TotpKey): void =>
  storage.put(prefix + name, JSON.stringify(key));

/** Deletes a key and its used codes. */
export function deleteKey(storage: Storage, name: string): void {
  storage.delete(prefix + name);
  storage.delete(spentAt(name));
}

/** The code settings of a key. */
export const schemeOf = ({ key, algorithm, digits, period }: TotpKey): CodeScheme => ({
  key: fromBase32(key),
  algorithm,
  digits,
  periodSeconds: period,
});

/** Begins to read the used codes of a key, which are needed soon. A failure is reported when they are needed. */
export function readAhead(storage: Storage, name: string): void {
  const reading = storage.read(spentAt(name), parseSpent);
  if (reading instanceof Promise) reading.catch(() => undefined);
}

/**
 * Validates a code and marks it as used on all nodes. Undefined if it is wrong; throws `invalid` if it was already
 * used.
 */
export async function spendCode(
  storage: Storage,
  name: string,
  code: string,
  nowMs: number,
): Promise<true | undefined> {
  const counterOf = (key: TotpKey) => matchCounter(schemeOf(key), code, nowMs, key.skew);
  const before = await requireKey(storage, name);
  const counterBefore = counterOf(before);
  if (counterBefore === undefined) return undefined;
  return storage.transaction(spentAt(name), async (tx) => {
    const usedCodes = (await tx.read(spentAt(name), parseSpent)) ?? {};
    // Read the key again: it may have been replaced.
    const key = await requireKey(tx, name);
    const counter = key === before ? counterBefore : counterOf(key);
    if (counter === undefined) return undefined;
    if (Object.hasOwn(usedCodes, code)) refuse('code already used; wait until the next time period');
    const unexpired = Object.entries(usedCodes).filter(([, untilMs]) => untilMs > nowMs);
    const untilMs = (counter + 1 + key.skew + periodsKept) * key.period * 1000;
    tx.put(spentAt(name), JSON.stringify(Object.fromEntries([...unexpired, [code, untilMs]])));
    return true;
  });
}
