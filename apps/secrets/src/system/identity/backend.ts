import { type Backend, backend } from '../../sdk/backend';
import type { Path } from '../../sdk/path';
import type { MountLookup } from '../../sdk/ports';
import { entityPaths } from './entity';
import { entityAliasPaths } from './entity-alias';
import { groupPaths } from './group';
import { groupAliasPaths } from './group-alias';
import { lookupPaths } from './lookup';
import { type IssuerAddress, pluginIssuerPaths } from './plugin-issuer';
import type { IdentityPort } from './ports';

/** What identity is lent by the kernel. */
export interface IdentityBackendNeeds {
  readonly identity: IdentityPort;
  readonly mounts: MountLookup;
  /** Paths of login MFA. */
  readonly mfa: readonly Path[];
  readonly issuer: IssuerAddress;
}

/** Who callers are: entities, groups, their aliases, and their second factors. */
export const identity = ({ identity: port, mounts, mfa, issuer }: IdentityBackendNeeds): Backend =>
  backend({
    type: 'identity',
    kind: 'system',
    summary: 'Entities, groups, aliases and login MFA.',
    paths: [
      ...entityPaths(port, mounts),
      ...entityAliasPaths(port, mounts),
      ...groupPaths(port, mounts),
      ...groupAliasPaths(port, mounts),
      ...lookupPaths(port, mounts),
      ...pluginIssuerPaths(issuer),
      ...mfa,
    ],
  });
