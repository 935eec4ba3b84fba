import type { Logger } from '@keystead/server';
import type { Identity } from '../../kernel/identity/identity';
import type { Leases } from '../../kernel/leases/leases';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Namespaces } from '../../kernel/namespaces/namespaces';
import type { PolicyStore } from '../../kernel/policy/store';
import type { TokenRecord, Tokens } from '../../kernel/tokens/types';
import type { Call } from '../../sdk/call';
import type { Soon } from '../../sdk/soon';

/** The parts of the token backend. */
export interface TokenParts {
  readonly tokens: Tokens;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly policies: PolicyStore;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
  readonly log: Logger;
}

/** The token with a given string: the caller's own, or one that is visible in the call's namespace. */
export function findNamed(
  { tokens }: Pick<TokenParts, 'tokens'>,
  { namespace, sentToken }: Pick<Call, 'namespace' | 'sentToken'>,
  token: string,
): Soon<TokenRecord | undefined> {
  return token === sentToken ? tokens.find(token) : tokens.findWithin(namespace.uuid, token);
}
