import type { Mounts, NewMount } from '../../../kernel/mounts/mounts';
import type { Seal } from '../../../kernel/seal/seal';
import { encryptShare, readShareKeys } from '../../../kernel/seal/share-encryption';
import { ROOT_NAMESPACE_ID, type WriteSet } from '../../../kernel/storage/types';
import type { StoredTokens } from '../../../kernel/tokens/tokens';

export interface InitialiseRequest {
  readonly shares: number;
  readonly threshold: number;
  /** OpenPGP keys in base64. Each encrypts the share at the same position. The root token is encrypted, too. */
  readonly pgpKeys?: readonly string[];
  readonly rootTokenPgpKey?: string;
}

export interface Initialised {
  readonly shares: readonly Uint8Array[];
  /** Whether the shares are recovery shares. */
  readonly recovery: boolean;
  readonly rootToken: string;
}

interface InitialiseDeps {
  readonly seal: Seal;
  readonly tokens: StoredTokens;
  readonly mounts: Mounts;
}

/** Creates the keys of a new installation, its root token and its first mounts. Throws `invalid`. */
export async function initialise(
  { seal, tokens, mounts }: InitialiseDeps,
  first: readonly NewMount[],
  { shares, threshold, pgpKeys, rootTokenPgpKey }: InitialiseRequest,
): Promise<Initialised> {
  const [tokenKey] = rootTokenPgpKey ? await readShareKeys([rootTokenPgpKey], 'invalid root token configuration') : [];
  const initialized = await seal.init({ shares, threshold, pgpKeys }, (set) => {
    mounts.addAll(set, ROOT_NAMESPACE_ID, first);
    return mintRootToken(tokens, set);
  });
  const rootToken = tokenKey
    ? (await encryptShare(Buffer.from(initialized.populated), tokenKey)).toString('base64')
    : initialized.populated;
  return { shares: initialized.shares, recovery: initialized.recovery, rootToken };
}

/** Adds a root token that never expires to a write set, and returns its text. */
export function mintRootToken(tokens: StoredTokens, set: WriteSet): string {
  const { token } = tokens.mint(
    {
      type: 'service',
      namespaceId: ROOT_NAMESPACE_ID,
      namespaceShortId: '',
      path: 'auth/token/root',
      displayName: 'root',
      policies: ['root'],
      ttlSeconds: 0,
      renewable: false,
    },
    set,
  );
  return token;
}
