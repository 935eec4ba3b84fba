import { refuse } from '../../sdk/refuse';
import { type TransitKey, tooOld } from './key';

const start = 'vault:v';

/** Text of ciphertexts and signatures: key version and payload, as clients parse them. */
export const versionText = (version: number, payload: string): string => `${start}${version}:${payload}`;

/**
 * Parses the version and payload of a string. In messages, `what` is the name of the string; `whole` is its name if the
 * prefix is missing.
 */
export function parseVersionText(text: string, what: string, whole = what): { version: number; payload: string } {
  if (!text.startsWith(start)) refuse(`invalid ${whole}: no prefix`);
  const colon = text.indexOf(':', start.length);
  if (colon < 0) refuse(`invalid ${what}: wrong number of fields`);
  const number = text.slice(start.length, colon);
  if (!/^[+-]?\d{1,15}$/.test(number)) refuse(`invalid ${what}: version number could not be decoded`);
  return { version: Number(number), payload: text.slice(colon + 1) };
}

/** Refuses versions that do not exist yet or that the key no longer accepts. */
export function checkVersion(key: TransitKey, version: number, what: string, old = tooOld): void {
  if (version > key.latest_version) refuse(`invalid ${what}: version is too new`);
  if (version < key.min_decryption_version) refuse(old);
}

/** The version that a request selects for `use`: 0 is the latest. */
export function versionFor(key: TransitKey, requestedVersion: number, use: 'encryption' | 'signing'): number {
  if (requestedVersion === 0) return key.latest_version;
  const problem =
    requestedVersion < 0
      ? 'negative'
      : requestedVersion > key.latest_version
        ? 'higher than the latest key version'
        : requestedVersion < key.min_encryption_version || !key.versions[requestedVersion]
          ? 'less than the minimum encryption key version'
          : undefined;
  if (problem) refuse(`requested version for ${use} is ${problem}`);
  return requestedVersion;
}
