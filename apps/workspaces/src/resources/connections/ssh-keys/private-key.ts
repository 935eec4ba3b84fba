import { invalid } from '@keystead/jsonapi';
import { KeyEncryptedError, parsePrivateKey } from 'sshpk';

/** The parts of a private key that may be shown. */
export interface KeyFacts {
  /** The fingerprint of its public half, as ssh tools print it: `SHA256:…`. Null for text that was not checked. */
  readonly fingerprint: string | null;
  /** rsa, dsa, ecdsa, ed25519; `unchecked` if the installation does not check keys. */
  readonly kind: string;
}

/**
 * Reads a private key (OpenSSH, PEM, PKCS #8, PuTTY). Throws `invalid` for text that is not a key, and for keys with a
 * passphrase, which could not be entered here.
 */
export function readPrivateKey(value: string): KeyFacts {
  try {
    const key = parsePrivateKey(value, 'auto');
    return { fingerprint: key.fingerprint('sha256').toString(), kind: key.type };
  } catch (error) {
    if (error instanceof KeyEncryptedError) throw invalid('value', 'must not be protected by a passphrase');
    throw invalid('value', 'is not a private key');
  }
}
