import { createHash } from 'node:crypto';
import type { Call, ReusableSecret } from '../../sdk/call';
import { data } from '../../sdk/reply';
import { rootInForce } from './config-root';
import type { CloudTwoRole } from './role-fields';

/**
 * The key for reusing credentials, computed from path, current role, configuration and request. Undefined if the role
 * does not allow reuse.
 */
export async function reuseKey(
  {
    params,
    storage,
    input,
    wrapTtlSeconds,
  }: Pick<Call<{ readonly name: string }>, 'params' | 'storage' | 'input' | 'wrapTtlSeconds'>,
  where: 'creds' | 'sts',
  role: CloudTwoRole,
): Promise<string | undefined> {
  // A wrapped secret is for another recipient, who may be a different one each time.
  if (!role.reuse_percent_left || wrapTtlSeconds > 0) return undefined;
  const { generation } = await rootInForce(storage);
  const { role_arn, role_session_name, ttl } = input;
  const all = [where, params.name, role, generation, role_arn, role_session_name, ttl];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

/** Returns credentials of an earlier call under their own lease. */
export function replyWithExisting({ warn }: Pick<Call, 'warn'>, { data: secretData, ...rest }: ReusableSecret) {
  warn(`these are the credentials of an earlier request; ${rest.secondsLeft}s of their lease are left`);
  // Only the call that created the credentials waited for the key.
  const { key_answers: _answers, key_waited_ms: _waited, ...credentials } = secretData;
  const credentialsShown = 'ttl' in credentials ? { ...credentials, ttl: rest.secondsLeft } : credentials;
  return data(credentialsShown, { id: rest.leaseId, renewable: rest.renewable, durationSeconds: rest.secondsLeft });
}
