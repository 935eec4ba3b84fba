import { signingAlgorithms } from '@keystead/auth';
import { z } from 'zod';
import { collection } from '../../../sdk/collection';
import type { Storage } from '../../../sdk/storage';

const NamedKey = z.object({
  algorithm: z.enum(signingAlgorithms),
  /** Seconds. */
  rotation_period: z.int(),
  /** Seconds for which its signatures can be verified after its replacement. */
  verification_ttl: z.int(),
  allowed_client_ids: z.array(z.string()),
});
/** How the tokens of roles and clients are signed; the keys themselves are stored separately. */
export type NamedKey = z.output<typeof NamedKey>;

/** The settings of keys, by name. */
export const namedKeys = collection('oidc/key/', NamedKey);

/** The default key of every namespace. */
export const defaultKeyName = 'default';

/** The defaults of a key. */
export const newNamedKey: NamedKey = {
  algorithm: 'RS256',
  rotation_period: 24 * 3600,
  verification_ttl: 24 * 3600,
  allowed_client_ids: [],
};

/** Finds a key; `default` always exists, for all clients. */
export async function findKey(storage: Storage, name: string): Promise<NamedKey | undefined> {
  const found = await namedKeys.find(storage, name);
  return found ?? (name === defaultKeyName ? { ...newNamedKey, allowed_client_ids: ['*'] } : undefined);
}

/** Whether a client may have its tokens signed with a key. */
export const allows = ({ allowed_client_ids: ids }: Pick<NamedKey, 'allowed_client_ids'>, clientId: string): boolean =>
  ids.includes('*') || ids.includes(clientId);
