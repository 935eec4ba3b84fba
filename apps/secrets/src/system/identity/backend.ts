import type { Identity } from '../../kernel/identity/identity';
import type { Mfa } from '../../kernel/mfa/mfa';
import type { Mounts } from '../../kernel/mounts/mounts';
import type { Namespaces } from '../../kernel/namespaces/namespaces';
import { type Backend, backend } from '../../sdk/backend';
import { entityPaths } from './entity';
import { entityAliasPaths } from './entity-alias';
import { groupPaths } from './group';
import { groupAliasPaths } from './group-alias';
import { loginEnforcementPaths } from './login-enforcement';
import { lookupPaths } from './lookup';
import { oidcPaths } from './oidc/paths';
import { type IssuerAddress, pluginIssuerPaths } from './plugin-issuer';
import { totpMethodPaths } from './totp-method';
import { totpSecretPaths } from './totp-secret';

/** The parts of identity. */
export interface IdentityParts {
  readonly identity: Identity;
  readonly mfa: Mfa;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
  readonly issuer: IssuerAddress;
  /** The address at which clients reach this service; undefined if it is not configured. */
  readonly publicUrl: string | undefined;
}

/** Who callers are: entities, groups, their aliases, and their second factors. */
export const identity = ({
  identity: identities,
  mfa,
  mounts,
  namespaces,
  issuer,
  publicUrl,
}: IdentityParts): Backend =>
  backend({
    type: 'identity',
    kind: 'system',
    summary: 'Entities, groups, aliases, login MFA, identity tokens and OpenID providers.',
    paths: [
      ...entityPaths(identities, mounts),
      ...entityAliasPaths(identities, mounts),
      ...groupPaths(identities, mounts),
      ...groupAliasPaths(identities, mounts),
      ...lookupPaths(identities, mounts),
      ...pluginIssuerPaths(issuer),
      ...oidcPaths(identities, publicUrl),
      ...totpMethodPaths(mfa, namespaces),
      ...totpSecretPaths(mfa, identities),
      ...loginEnforcementPaths(mfa, namespaces),
    ],
  });
