import { createHash } from 'node:crypto';
import type { Storage } from '../../../sdk/storage';
import type { Jwk } from './jws';
import { records } from './record';

/** An ACME account: one key in one directory. */
export interface Account {
  readonly id: string;
  readonly prefix: string;
  readonly jwk: Jwk;
  readonly contact: readonly string[];
  readonly status: 'valid' | 'deactivated';
  readonly termsAgreed: boolean;
  readonly createdAtMs: number;
  /** When the account placed its newest order. */
  readonly orderedAtMs?: number;
  /** The external account binding that the account was created with. */
  readonly binding?: { readonly id: string; readonly sent: unknown };
}

/** The accounts of a mount. */
export const accounts = records<Account>('acme/account/');

/** Maps each key to its account, per directory. */
const owners = records<{ readonly account: string }>('acme/key/');

const ownerId = (prefix: string, thumbprint: string): string =>
  createHash('sha256').update(`${prefix} ${thumbprint}`).digest('base64url');

/** The id of the account of a key in a directory. */
export const findOwner = async (storage: Storage, prefix: string, thumbprint: string): Promise<string | undefined> =>
  (await owners.find(storage, ownerId(prefix, thumbprint)))?.account;

/** Records the account of a key. */
export const keepOwner = (storage: Storage, prefix: string, thumbprint: string, account: string): void =>
  owners.put(storage, ownerId(prefix, thumbprint), { account });

/** Removes the link from a key to its account. */
export const forgetOwner = (storage: Storage, prefix: string, thumbprint: string): void =>
  owners.delete(storage, ownerId(prefix, thumbprint));

/** Changes the account of a key, one change at a time. */
export const decideOwner = <T>(
  storage: Storage,
  prefix: string,
  thumbprint: string,
  run: (tx: Storage) => Promise<T>,
): Promise<T> => storage.transaction(`acme/key/${ownerId(prefix, thumbprint)}`, run);
