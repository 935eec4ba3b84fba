import { AssumeRoleWithWebIdentityCommand, STSClient, type STSClientConfig } from '@aws-sdk/client-sts';
import { Refusal } from '@keystead/refusal';
import { attempt } from '../../sdk/cloud-error';
import type { IdentityTokens } from '../../sdk/identity-tokens';
import { credentialsOf } from './sts-credentials';

/** A role of the provider that a mount assumes by an identity token of this service instead of a key. */
export interface WebIdentity {
  readonly mountUuid: string;
  readonly roleArn: string;
  readonly audience: string;
  readonly tokenTtlSeconds: number;
}

/** The duration of the assumed role, and how long before its end it is renewed. */
const sessionSeconds = 3600;
const spareMs = 5 * 60_000;

interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiration: Date;
}

/**
 * Credentials for the clients of a mount. Signs an identity token and exchanges it for credentials of a role, and
 * repeats this before they expire. No secret is stored.
 */
export function byWebIdentity(identity: WebIdentity, tokens: IdentityTokens | undefined, config: STSClientConfig) {
  const exchange = exchanger(identity, tokens, config);
  let pending: Promise<SessionCredentials> | undefined;
  let cached: SessionCredentials | undefined;
  return async (): Promise<SessionCredentials> => {
    if (cached && cached.expiration.getTime() - spareMs > Date.now()) return cached;
    pending ??= exchange().finally(() => {
      pending = undefined;
    });
    cached = await pending;
    return cached;
  };
}

function exchanger(identity: WebIdentity, tokens: IdentityTokens | undefined, config: STSClientConfig) {
  return async (): Promise<SessionCredentials> => {
    if (!tokens) throw new Refusal('invalid', 'this service does not sign identity tokens');
    const { mountUuid, roleArn, audience, tokenTtlSeconds } = identity;
    const WebIdentityToken = await tokens.issue(mountUuid, audience, tokenTtlSeconds);
    const sts = new STSClient(config);
    try {
      const { Credentials } = await attempt('Error assuming role with web identity', () =>
        sts.send(
          new AssumeRoleWithWebIdentityCommand({
            RoleArn: roleArn,
            RoleSessionName: `keystead-${mountUuid.slice(0, 8)}`,
            DurationSeconds: sessionSeconds,
            WebIdentityToken,
          }),
        ),
      );
      const credentials = credentialsOf(Credentials);
      return {
        accessKeyId: credentials.accessKey,
        secretAccessKey: credentials.secretKey,
        sessionToken: credentials.securityToken,
        expiration: new Date(credentials.expiresAtMs),
      };
    } finally {
      sts.destroy();
    }
  };
}
