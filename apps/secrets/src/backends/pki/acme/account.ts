import { createHash } from 'node:crypto';
import type { Storage } from '../../../sdk/storage';
import type { Jwk } from './jws';
import { records } from './record';

/** Who orders certificates: known by a key, and in one directory only. */
export interface Account {
  readonly id: string;
  readonly prefix: string;
  readonly jwk: Jwk;
  readonly contact: readonly string[];
  readonly status: 'valid' | 'deactivated';
  readonly termsAgreed: boolean;
  readonly createdAtMs: number;
  /** What bound it to a key of `new-eab`. */
  readonly binding?: { readonly id: string; readonly sent: unknown };
}

/** The accounts of a mount. */
export const accounts = records<Account>('acme/account/');

/** Which account a key is of, in each directory. */
const owners = records<{ readonly account: string }>('acme/key/');

const ownerId = (prefix: string, thumbprint: string): string =>
  createHash('sha256').update(`${prefix} ${thumbprint}`).digest('base64url');

/** The id of the account of a key in a directory. */
export const findOwner = async (storage: Storage, prefix: string, thumbprint: string): Promise<string | undefined> =>
  (await owners.find(storage, ownerId(prefix, thumbprint)))?.account;

/** Notes whose key it is. */
export const keepOwner = (storage: Storage, prefix: string, thumbprint: string, account: string): void =>
  owners.put(storage, ownerId(prefix, thumbprint), { account });

/** The key is no account's any more. */
export const forgetOwner = (storage: Storage, prefix: string, thumbprint: string): void =>
  owners.delete(storage, ownerId(prefix, thumbprint));

/** Decides about the account of a key. */
export const decideOwner = <T>(
  storage: Storage,
  prefix: string,
  thumbprint: string,
  run: (tx: Storage) => Promise<T>,
): Promise<T> => storage.transaction(`acme/key/${ownerId(prefix, thumbprint)}`, run);
