import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { announced, duration, secretString, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { secret } from '../../sdk/reply';
import type { CloudTwo } from './cloud';
import { leaseTimes } from './config-lease';
import { connection, rootInForce } from './config-root';
import { createUser } from './iam-user';
import { waitForKey } from './key-wait';
import { replyWithExisting, reuseKey } from './reuse';
import { type CloudTwoRole, type CredentialType, roles } from './role-fields';
import { assumeRole, federationToken, filterOf, type StsCredentials, sessionToken } from './sts-credentials';
import { normalise, userName } from './user-name';

const sessionNameLimit = 64;
const defaultTtlSeconds = 3600;

const CredsInput = z.object({
  role_arn: string().optional().describe('ARN of the role to assume. Required if the role allows several.'),
  role_session_name: string().optional().describe('Name of the session; truncated to 64 characters.'),
  ttl: announced(duration(), { default: `${defaultTtlSeconds}s` })
    .optional()
    .describe('Lifetime of short-lived credentials. The role’s default takes precedence over this field.'),
  mfa_code: secretString().optional().describe('Current code of the MFA device in the role; only for session_token.'),
});
type CredsCall = Call<{ readonly name: string }, z.output<typeof CredsInput>>;

const Output = z.object({
  access_key: z.string(),
  secret_key: z.string(),
  security_token: z.string().nullable(),
  session_token: z.string().optional().describe('Newer name of ttl; only for temporary credentials.'),
  arn: z.string().optional(),
  ttl: z.number().optional(),
  key_answers: z.boolean().optional(),
  key_waited_ms: z.number().optional(),
});

/** Credentials from a role, at `creds/` and `sts/`. Spec: Cloud-provider engine (Credential request parameters). */
export function credsPaths(cloud: CloudTwo) {
  const issueAt = (where: 'creds' | 'sts') => {
    const issue = operation({
      summary: 'Generate credentials from a role.',
      input: CredsInput,
      output: Output,
      async run(call: CredsCall) {
        const { params, storage } = call;
        const role = await roles.require(storage, params.name, `Role "${params.name}" not found`);
        const type = typeFor(role, where);
        const key = await reuseKey(call, where, role);
        const earlier = key && (await call.findReusable(key));
        if (earlier && earlier.fractionLeft * 100 >= role.reuse_percent_left) return replyWithExisting(call, earlier);
        const secret = type === 'iam_user' ? user(cloud, call, role) : session(cloud, call, role, type);
        return { ...(await secret), reuseKey: key };
      },
    });
    const id = where === 'creds' ? 'generate-credentials' : 'generate-sts-credentials';
    return path(`${where}/:name`, {
      summary: 'Credentials for the cloud provider, generated from a role.',
      spec: 'Cloud-provider engine',
      params: { name: 'name-at' },
      read: { ...issue, operationId: id },
      write: { ...issue, operationId: `${id}-with-parameters` },
    });
  };
  return [issueAt('creds'), issueAt('sts')];
}

/**
 * The credential type at one of the two paths. Legacy roles create users only at `creds/` and short-lived credentials
 * only at `sts/`.
 */
function typeFor(role: CloudTwoRole, where: 'creds' | 'sts'): CredentialType {
  if (!role.legacy) {
    const [type] = role.credential_types;
    if (type) return type;
    throw new Refusal('invalid', 'did not supply credential_type');
  }
  const fits = role.credential_types.find((type) => (type === 'iam_user') === (where === 'creds'));
  if (fits) return fits;
  const [type] = role.credential_types;
  const text = `attempted to retrieve ${type} credentials through the ${where} path; this is not allowed for legacy roles`;
  throw new Refusal('invalid', text);
}

async function user(cloud: CloudTwo, call: CredsCall, role: CloudTwoRole) {
  const { params, storage, caller, nowMs, warn } = call;
  warnOfIdle(call, 'iam_user', ['ttl', 'role_arn', 'role_session_name', 'mfa_code']);
  const config = await rootInForce(storage);
  const { iam, check } = cloud.of(connection(config));
  // Check first, to avoid recording an unnecessary intent.
  check();
  const times = await leaseTimes(storage);
  const name = userName(
    config.username_template,
    'IAM',
    { displayName: caller.displayName, role: params.name },
    { nowMs },
  );
  const intent = await storage.intent('iam_user', { name, at_ms: nowMs });
  const user = await createUser(iam, name, params.name, role, () => intent.drop());
  const observed = await waitForKey(cloud, connection(config), user, role.wait_for_key ?? 0);
  if (observed?.key_answers === false)
    warn(`the new key did not work within ${role.wait_for_key}s; it may need longer`);
  intent.settle();
  return secret('iam_user', {
    data: { access_key: user.accessKey, secret_key: user.secretKey, security_token: null, arn: user.arn, ...observed },
    internal: { name, access_key: user.accessKey, at_ms: nowMs },
    ttlSeconds: times.lease,
    maxTtlSeconds: times.lease_max,
    renewable: true,
  });
}

async function session(cloud: CloudTwo, call: CredsCall, role: CloudTwoRole, type: SessionType) {
  const { params, storage, nowMs, input } = call;
  warnOfIdle(call, type, idleFor[type]);
  // Refuse every request that can be refused before the first call.
  const arn = type === 'assumed_role' ? roleArn(role, input.role_arn, params.name) : '';
  const sessionName = type === 'assumed_role' ? givenSessionName(input.role_session_name) : undefined;
  const seconds = ttlFor(call, role);
  const code = type === 'session_token' ? mfaCode(role, call) : '';
  const config = await rootInForce(storage);
  const name = sessionName ?? madeName(config.username_template, type, call);
  const { iam, sts } = cloud.of(connection(config));
  const ask: Readonly<Record<SessionType, () => Promise<StsCredentials>>> = {
    async assumed_role() {
      const filter = await filterOf(iam, role);
      const { external_id: externalId = '', session_tags: tags = {} } = role;
      return assumeRole(sts, { arn, sessionName: name, seconds, filter, externalId, tags });
    },
    federation_token: async () => federationToken(sts, { name, seconds, filter: await filterOf(iam, role) }),
    session_token: () => sessionToken(sts, { seconds, device: role.mfa_serial_number ?? '', code }),
  };
  const credentials = await ask[type]();
  // The provider counts from the request, by its own clock; the lease never shows more than requested.
  const remainingSeconds = Math.min(seconds, Math.max(1, Math.floor((credentials.expiresAtMs - nowMs) / 1000)));
  return secret(type, {
    data: {
      access_key: credentials.accessKey,
      ...(credentials.arn ? { arn: credentials.arn } : {}),
      secret_key: credentials.secretKey,
      security_token: credentials.securityToken,
      session_token: credentials.securityToken,
      ttl: remainingSeconds,
    },
    internal: {},
    ttlSeconds: remainingSeconds,
    maxTtlSeconds: remainingSeconds,
    renewable: false,
  });
}

type SessionType = Exclude<CredentialType, 'iam_user'>;
type SessionOption = 'ttl' | 'role_arn' | 'role_session_name' | 'mfa_code';

const idleFor: Readonly<Record<SessionType, readonly SessionOption[]>> = {
  assumed_role: ['mfa_code'],
  federation_token: ['role_arn', 'role_session_name', 'mfa_code'],
  session_token: ['role_arn', 'role_session_name'],
};

/** Warns of parameters that have no effect on credentials of this type. */
function warnOfIdle({ input, warn }: CredsCall, type: CredentialType, idle: readonly SessionOption[]): void {
  for (const field of idle) {
    if (input[field] !== undefined) warn(`${field} does not apply to ${type} credentials and is ignored`);
  }
}

/** The code of the role's MFA device; empty if the role has none. */
function mfaCode(role: CloudTwoRole, { input, warn }: CredsCall): string {
  if (!role.mfa_serial_number) {
    if (input.mfa_code !== undefined) warn('mfa_code is ignored: the role has no mfa_serial_number');
    return '';
  }
  if (input.mfa_code && /^\d{6}$/.test(input.mfa_code)) return input.mfa_code;
  throw new Refusal('invalid', 'mfa_code is required: six digits from the device of the role');
}

function madeName(template: string, type: SessionType, { caller, params, nowMs }: CredsCall): string {
  const who = { displayName: caller.displayName, role: params.name };
  return userName(template, type === 'assumed_role' ? 'IAM' : 'STS', who, { nowMs });
}

function roleArn(role: CloudTwoRole, requestedArn: string | undefined, name: string): string {
  const arn = requestedArn || (role.role_arns.length === 1 ? role.role_arns[0]! : '');
  if (!arn) throw new Refusal('invalid', 'did not supply a role_arn parameter and unable to determine one');
  if (role.role_arns.includes(arn)) return arn;
  throw new Refusal('invalid', `role_arn "${arn}" not in allowed role arns for Service role "${name}"`);
}

function givenSessionName(sessionName: string | undefined): string | undefined {
  if (!sessionName) return undefined;
  const name = normalise(sessionName).slice(0, sessionNameLimit);
  if (name.length >= 2) return name;
  throw new Refusal('invalid', 'role_session_name needs at least 2 characters');
}

function ttlFor({ input, mount, warn }: CredsCall, role: CloudTwoRole): number {
  const requestedTtl = input.ttl || role.default_sts_ttl || defaultTtlSeconds;
  const most = role.max_sts_ttl || mount.maxLeaseTtlSeconds;
  if (requestedTtl <= most) return requestedTtl;
  warn(`ttl of ${requestedTtl} seconds exceeds the maximum of ${most} seconds and is capped`);
  return most;
}
