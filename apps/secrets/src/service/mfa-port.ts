import type { Identity } from '../kernel/identity/identity';
import type { AuthMounts } from '../kernel/mfa/enforcements';
import type { MfaRequirement } from '../kernel/mfa/logins';
import { methodRules } from '../kernel/mfa/method-config';
import type { Mfa } from '../kernel/mfa/mfa';
import type { Method } from '../kernel/mfa/types';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { MfaPort } from '../pipeline/kernel';
import type { Path } from '../sdk/path';
import { loginEnforcementPaths } from '../system/identity/login-enforcement';
import type { MfaPort as MfaPathPort, MfaSurroundings } from '../system/identity/mfa-ports';
import { totpMethodPaths } from '../system/identity/totp-method';
import { totpSecretPaths } from '../system/identity/totp-secret';

/** Second factors as the pipeline needs them. */
export function mfaPort({ logins, stepUp }: Mfa): MfaPort {
  return {
    async demand(login, sentAlong) {
      const requirement = await logins.demand(login, sentAlong);
      return requirement && shown(requirement);
    },
    prove: (entityId, wanted, sentAlong) => stepUp.prove(entityId, wanted, sentAlong),
  };
}

/** The paths of login MFA below `identity/`. */
export function mfaPaths(mfa: Mfa, { namespaces, identity }: { namespaces: Namespaces; identity: Identity }): Path[] {
  const surroundings: MfaSurroundings = {
    namespace: (uuid) => namespaces.find(uuid) ?? { id: '', path: '' },
    entityExists: async (namespaceId, id) => (await identity.views.of(id))?.namespaceId === namespaceId,
  };
  const { methods, secrets, enforcements, logins } = mfa;
  const lent: MfaPathPort = {
    methods: {
      rules: methodRules,
      // The kernel checks every field itself.
      write: (namespaceId, name, fields) => methods.write(namespaceId, name, fields as Partial<Method>),
      update: (namespaceId, id, name, fields) => methods.update(namespaceId, id, name, fields as Partial<Method>),
      find: (namespaceId, id) => methods.find(namespaceId, id),
      list: (namespaceId) => methods.list(namespaceId),
      delete: (namespaceId, id) => methods.delete(namespaceId, id),
    },
    secrets: {
      // Only methods that `find` gave come back here.
      generate: (method, entityId) => secrets.generate(method as Method, entityId),
      destroy: (methodId, entityId) => secrets.destroy(methodId, entityId),
      unlock: (methodId, entityId) => secrets.unlock(methodId, entityId),
    },
    enforcements,
    logins,
  };
  return [
    ...totpMethodPaths(lent, surroundings),
    ...totpSecretPaths(lent, surroundings),
    ...loginEnforcementPaths(lent, surroundings),
  ];
}

/** A namespace and those above it, by uuid; empty for one that is gone. */
export function lineageOf(namespaces: Namespaces, uuid: string): string[] {
  const namespace = namespaces.find(uuid);
  return namespace ? namespaces.lineage(namespace).map((one) => one.uuid) : [];
}

/** Which auth mounts enforcements may name: those of their namespace and, since they hold there too, those below. */
export function authMounts(mounts: Mounts, namespaces: Namespaces): AuthMounts {
  const isAuth = ({ path }: { path: string }) => path.startsWith('auth/');
  return {
    hasAccessor(namespaceId, accessor) {
      const mount = mounts.findByAccessor(accessor);
      return mount !== undefined && isAuth(mount) && namespaces.within(namespaceId, mount.namespaceId);
    },
    hasType: (namespaceId, type) =>
      [...mounts.all()].some(
        (mount) => isAuth(mount) && mount.type === type && namespaces.within(namespaceId, mount.namespaceId),
      ),
  };
}

function shown({ requestId, constraints }: MfaRequirement): Record<string, unknown> {
  const wanted = constraints.map(({ enforcement, methods }) => [
    enforcement,
    {
      any: methods.map(({ id, name, selfEnrolment }) => ({
        type: 'totp',
        id,
        uses_passcode: true,
        name,
        ...(selfEnrolment && { self_enrollment_enabled: true }),
      })),
    },
  ]);
  return { mfa_request_id: requestId, mfa_constraints: Object.fromEntries(wanted) };
}
