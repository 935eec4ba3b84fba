import type { Mounts, NewMount } from '../kernel/mounts/mounts';
import type { Seal } from '../kernel/seal/seal';
import { encryptShare, readShareKeys } from '../kernel/seal/share-encryption';
import { ROOT_NAMESPACE_ID, type WriteSet } from '../kernel/storage/types';
import type { StoredTokens } from '../kernel/tokens/tokens';
import type { SealPort } from '../system/sys/status';

interface Parts {
  readonly seal: Seal;
  readonly tokens: StoredTokens;
  readonly mounts: Mounts;
}

/** The seal, and what a new installation begins with: its first mounts and a root token. */
export function sealPort({ seal, tokens, mounts }: Parts, first: readonly NewMount[]): SealPort {
  return {
    status: () => seal.status(),
    seal: () => seal.seal(),
    unseal: (key) => seal.unseal(key),
    resetUnseal: () => seal.resetUnseal(),
    async initialise({ shares, threshold, pgpKeys, rootTokenPgpKey }) {
      const [tokenKey] = rootTokenPgpKey
        ? await readShareKeys([rootTokenPgpKey], 'invalid root token configuration')
        : [];
      const made = await seal.init({ shares, threshold, pgpKeys }, (set) => {
        set.run.push((tx) => mounts.createAll(tx, ROOT_NAMESPACE_ID, first));
        return mintRootToken(tokens, set);
      });
      const rootToken = tokenKey
        ? (await encryptShare(Buffer.from(made.populated), tokenKey)).toString('base64')
        : made.populated;
      return { shares: made.shares, recovery: made.recovery, rootToken };
    },
  };
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
