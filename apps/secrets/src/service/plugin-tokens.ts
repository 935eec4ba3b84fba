import { randomUUID } from 'node:crypto';
import { signJwt } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { LeaseHosts } from '../kernel/leases/types';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { IdentityTokens } from '../sdk/identity-tokens';
import type { IssuerAddress } from '../system/identity/plugin-issuer';
import { pluginKeys } from '../system/identity/plugin-keys';

/** The issuer of a namespace's identity tokens: a URL under the public address of the service. */
export function issuerBelow(publicUrl: string | undefined): IssuerAddress {
  return (namespacePath) => publicUrl && `${publicUrl}/v1/${namespacePath}identity/oidc/plugins`;
}

/** Signs identity tokens for mounts, with keys in the storage of their namespace's identity mount. */
export function pluginTokens(
  issuer: IssuerAddress,
  parts: {
    readonly mounts: Mounts;
    readonly namespaces: Namespaces;
    readonly inBackground: LeaseHosts['inBackground'];
  },
): IdentityTokens {
  const check = () => {
    if (issuer('')) return;
    throw new Refusal(
      'invalid',
      'identity tokens need SECRETS_PUBLIC_URL, so that outside systems can fetch their keys',
    );
  };
  return {
    check,
    async issue(mountUuid, audience, ttlSeconds) {
      check();
      const mount = parts.mounts.find(mountUuid);
      const namespace = mount && parts.namespaces.find(mount.namespaceId);
      const identity = mount && parts.mounts.at(mount.namespaceId, 'identity/');
      if (!mount || !namespace || !identity) throw new Refusal('invalid', 'the mount no longer exists');
      const { current, nowMs } = await parts.inBackground(identity, async ({ storage, nowMs }) => ({
        current: (await pluginKeys(storage, nowMs)).current,
        nowMs,
      }));
      const now = Math.floor(nowMs / 1000);
      const facts = {
        namespace_id: namespace.id,
        namespace_path: namespace.path,
        class: mount.kind,
        plugin: mount.type,
      };
      return signJwt(
        {
          iss: issuer(namespace.path),
          sub: `plugin-identity:${namespace.id}:${mount.kind}:${mount.accessor}`,
          aud: [audience],
          iat: now,
          nbf: now,
          exp: now + ttlSeconds,
          jti: randomUUID(),
          keystead: { ...facts, path: mount.path, accessor: mount.accessor, local: mount.local },
        },
        current,
      );
    },
  };
}
