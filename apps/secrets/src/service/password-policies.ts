import type { PasswordPolicies } from '../backends/database/passwords';
import type { LeaseHosts } from '../kernel/leases/types';
import type { Mounts } from '../kernel/mounts/mounts';
import { passwordBy } from '../system/sys/policies/password-policies';

/** Generates passwords for mounts, by the policies of their namespaces. */
export const passwordPolicies = (parts: {
  readonly mounts: Mounts;
  readonly inBackground: LeaseHosts['inBackground'];
}): PasswordPolicies => ({
  async generate({ uuid }, policy) {
    const mount = parts.mounts.find(uuid);
    const system = mount && parts.mounts.at(mount.namespaceId, 'sys/');
    if (!system) throw new Error('a mount without its namespace');
    return parts.inBackground(system, ({ storage }) => passwordBy(storage, policy));
  },
});
