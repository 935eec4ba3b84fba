import { type Backend, backend } from '../../sdk/backend';
import type { Path } from '../../sdk/path';
import type { MountLookup } from '../../sdk/ports';
import { entityPaths } from './entity';
import { entityAliasPaths } from './entity-alias';
import { groupPaths } from './group';
import { groupAliasPaths } from './group-alias';
import { lookupPaths } from './lookup';
import type { IdentityPort } from './ports';

/** What identity is lent by the kernel. */
export interface IdentityBackendNeeds {
  readonly identity: IdentityPort;
  readonly mounts: MountLookup;
  /** Paths of login MFA. */
  readonly mfa: readonly Path[];
}

/** Who callers are: entities, groups, their aliases, and their second factors. */
export const identity = ({ identity: port, mounts, mfa }: IdentityBackendNeeds): Backend =>
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
      ...mfa,
    ],
  });
