import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { anyCase, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { canonicalArn, principalOf } from './arn';
import { clientInForce } from './client';
import { identityInForce } from './identity';
import type { AwsParts } from './parts';
import { type AwsRole, boundCanonical, findRole } from './role';
import { base64Text, headersField, readRequest } from './signed-request';

/** The caller: the unique id at AWS, the ARN without its path, and the full ARN if the role needs it. */
interface Who {
  readonly id: string;
  readonly canonical: string;
  readonly full: string;
}

/** Login with a signed request for the token service. Decision 0025. */
export const loginPath = (parts: AwsParts) =>
  path('login', {
    summary: 'Log in with a signed AWS STS request.',
    auth: 'none',
    write: {
      summary: 'Send the signed request to AWS STS to identify the caller, and issue a token.',
      input: z.object({
        role: anyCase(string()).optional().describe('Name of the role. Default: the name of the AWS user or role.'),
        iam_http_request_method: anyCase(string()).optional().describe('POST.'),
        iam_request_url: base64Text('iam_request_url').optional().describe('URL of the signed request, in base64.'),
        iam_request_body: base64Text('iam_request_body').optional().describe('Body of the signed request, in base64.'),
        iam_request_headers: headersField()
          .optional()
          .describe('Headers of the signed request: JSON, or JSON in base64.'),
        identity: string().optional().describe('For EC2 logins, which are not supported.'),
        pkcs7: string().optional().describe('For EC2 logins, which are not supported.'),
        signature: string().optional().describe('For EC2 logins, which are not supported.'),
      }),
      judges: 'unguessable',
      async run({ input, storage, caller, mount }) {
        for (const name of ['identity', 'pkcs7', 'signature'] as const) {
          if (input[name]) throw new Refusal('invalid', `${name} is not supported: log in with iam_request_headers`);
        }
        for (const name of [
          'iam_http_request_method',
          'iam_request_url',
          'iam_request_body',
          'iam_request_headers',
        ] as const) {
          if (Object.keys(input[name] ?? {}).length === 0) throw new Refusal('invalid', `missing ${name}`);
        }
        const config = await clientInForce(storage);
        const request = readRequest(
          {
            method: input.iam_http_request_method!,
            url: input.iam_request_url!,
            body: input.iam_request_body!,
            headers: input.iam_request_headers!,
          },
          config,
        );
        const roleName = input.role?.toLowerCase();
        const early = roleName ? await requireRole(storage, roleName) : undefined;
        if (early && !withinCidrs(caller.address, early.token_bound_cidrs)) throw denied();
        const identity = await parts.tokenService.ask(request, config);
        const principal = principalOf(identity.arn);
        const name = roleName ?? principal.name.toLowerCase();
        const role = early ?? (await requireRole(storage, name));
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw denied();
        const { iam_alias, iam_metadata } = await identityInForce(storage);
        const id = identity.userId.split(':')[0]!;
        const needsFull = iam_alias === 'full_arn' || !isExactly(role, id, canonicalArn(principal));
        const full = needsFull ? await fullArn(parts, storage, role, principal, id, iam_alias === 'full_arn') : '';
        const who: Who = { id, canonical: canonicalArn(principal), full };
        if (!admits(role, who)) {
          throw new Refusal(
            'denied',
            `IAM Principal ${JSON.stringify(identity.arn)} does not belong to the role ${JSON.stringify(name)}`,
          );
        }
        const facts: Record<string, string> = {
          account_id: principal.account,
          auth_type: 'iam',
          canonical_arn: who.canonical,
          client_arn: identity.arn,
          client_user_id: id,
        };
        const metadata = Object.fromEntries(iam_metadata.map((fact) => [fact, facts[fact]!]));
        const aliases = { role_id: role.role_id, unique_id: id, canonical_arn: who.canonical, full_arn: full };
        return login({
          ...loginParams(role, config),
          alias: { name: aliases[iam_alias], metadata },
          displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${principal.name}`,
          metadata: { role_id: role.role_id, ...metadata },
          internal: { role: name, who },
        });
      },
    },
  });

/**
 * Computes the login again with the current role. Throws if the role no longer exists or no longer allows the caller.
 */
export async function renewLogin({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> {
  const name = String(internal.role);
  const role = await findRole(storage, name);
  if (!role) throw new Refusal('invalid', `role ${name} does not exist during renewal`);
  const who = internal.who as Who;
  if (!admits(role, who)) {
    throw new Refusal('invalid', `IAM Principal ${JSON.stringify(who.canonical)} no longer belongs to the role`);
  }
  return loginParams(role, await clientInForce(storage));
}

async function requireRole(storage: Storage, name: string): Promise<AwsRole> {
  const role = await findRole(storage, name);
  if (!role) throw new Refusal('invalid', `entry for role ${JSON.stringify(name)} not found`);
  return role;
}

/** Whether a role is bound to exactly this principal: by id if ids are resolved, otherwise by ARN without its path. */
function isExactly(role: AwsRole, id: string, canonical: string): boolean {
  const exact = role.bound_iam_principal_arn.filter((arn) => !arn.endsWith('*'));
  return role.resolve_aws_unique_ids
    ? exact.some((arn) => role.ids[arn] === id)
    : exact.some((arn) => boundCanonical(arn) === canonical);
}

function admits(role: AwsRole, { id, canonical, full }: Who): boolean {
  if (isExactly(role, id, canonical)) return true;
  const globs = role.bound_iam_principal_arn.filter((arn) => arn.endsWith('*'));
  return full !== '' && globs.some((glob) => full.startsWith(glob.slice(0, -1)));
}

/**
 * The ARN with its path, which wildcards of roles match. It is looked up, because sessions do not contain it. Empty if
 * the role has no wildcards.
 */
async function fullArn(
  { principals }: AwsParts,
  storage: Storage,
  role: AwsRole,
  principal: ReturnType<typeof principalOf>,
  id: string,
  isAlias: boolean,
): Promise<string> {
  if (!isAlias && !role.bound_iam_principal_arn.some((arn) => arn.endsWith('*'))) return '';
  const found = await principals.find(await clientInForce(storage), principal);
  // The principal was deleted and recreated during the session: it is a different principal, and may have another path.
  if (found.id !== id) throw denied();
  return found.arn;
}

const denied = (): Refusal => new Refusal('denied', 'permission denied');
