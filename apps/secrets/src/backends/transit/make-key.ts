import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { changeKey, findKey, type TransitKey, withVersion } from './key';
import { derives, kindOf } from './key-type';
import { makeVersion } from './material';

/** The default key, without versions. */
export const plainKey: TransitKey = {
  type: 'aes256-gcm96',
  derived: false,
  convergent_encryption: false,
  exportable: false,
  allow_plaintext_backup: false,
  auto_rotate_period: 0,
  deletion_allowed: false,
  soft_deleted: false,
  imported_key: false,
  imported_key_allow_rotation: false,
  key_size: 0,
  latest_version: 0,
  min_available_version: 0,
  min_decryption_version: 1,
  min_encryption_version: 0,
  versions: {},
};

/** Creates a key with its first version, or returns the existing key with this name. */
export async function createKey(storage: Storage, name: string, draft: TransitKey, nowMs: number): Promise<TransitKey> {
  const found = await findKey(storage, name);
  if (found) return found;
  checkDerivation(draft);
  const created = withVersion(draft, await makeVersion(draft.type, draft.key_size, nowMs));
  return changeKey(storage, name, (key) => key ?? created);
}

/** Throws `invalid` if keys of the type cannot be derived as requested. */
export function checkDerivation({ type, derived, convergent_encryption }: TransitKey): void {
  if (derived && !derives(type)) {
    refuse(`key derivation and convergent encryption not supported for keys of type ${type}`);
  }
  if (convergent_encryption && kindOf(type).family !== 'aead') {
    refuse(`convergent encryption not supported for keys of type ${type}`);
  }
}

const hourSeconds = 3600;

/** Throws `invalid` if the rotation period is too short. */
export function checkPeriod(seconds: number): void {
  if (seconds !== 0 && seconds < hourSeconds) {
    refuse('auto rotate period must be 0 to disable or at least an hour');
  }
}
