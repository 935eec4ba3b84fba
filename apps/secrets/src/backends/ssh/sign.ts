import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { announced, duration, int, keyValues, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { findCa, folded, requireIssuer, signingKey } from './ca';
import { makeCertificate } from './certificate';
import { makeKey, shownPrivateKey } from './key-pair';
import { checkAskedKey, checkKey } from './key-rules';
import { criticalOptionsOf, extensionsOf } from './options';
import { checkVisible, principalsOf } from './principals';
import { lineOf, publicLine, readPublicKey, type SshPublicKey } from './public-key';
import { roles, type SshRole } from './role';

const Asked = z.object({
  ttl: duration().optional().describe('Lifetime of the certificate. Default: the role’s or the mount’s.'),
  valid_principals: string()
    .optional()
    .describe('Names of the users or hosts that the certificate is valid for, separated by commas.'),
  cert_type: announced(string(), { enum: ['user', 'host'], default: 'user' })
    .optional()
    .describe('user or host certificate.'),
  key_id: string().optional().describe('Key ID of the certificate, which SSH servers log. Only if the role allows it.'),
  critical_options: keyValues().optional().describe('Critical options, instead of those of the role.'),
  extensions: keyValues().optional().describe('Extensions, instead of those of the role.'),
});
const certificateOutput = z.object({ issuer_id: z.string(), serial_number: z.string(), signed_key: z.string() });

type AskedCall = Pick<
  Call<{ readonly role: string }, z.output<typeof Asked>>,
  'input' | 'params' | 'storage' | 'caller' | 'mount' | 'nowMs' | 'filled' | 'warn'
>;

/** Signs a key. Throws `invalid` if the role does not allow the request. */
async function signed(call: AskedCall, role: SshRole, key: SshPublicKey) {
  const { input, storage, nowMs } = call;
  const keyId = keyIdOf(call, role, key);
  const kind = kindOf(role, input.cert_type ?? 'user');
  const principals = principalsOf(call, role, kind, input.valid_principals);
  const ttl = ttlOf(call, role);
  const criticalOptions = criticalOptionsOf(role, input.critical_options ?? {});
  const extensions = extensionsOf(call, role, kind, input.extensions ?? {});
  const issuer = requireIssuer(await findCa(storage), folded(role.issuer_ref));
  const signer = await signingKey(storage, issuer.issuer_id);
  const now = Math.floor(nowMs / 1000);
  const content = {
    key,
    kind,
    keyId,
    principals,
    validAfter: now - role.not_before_duration,
    validBefore: now + ttl,
    criticalOptions,
    extensions,
  };
  const { type, blob, serial } = await makeCertificate(content, signer, role.algorithm_signer);
  return { issuer_id: issuer.issuer_id, serial_number: serial, signed_key: lineOf(type, blob) };
}

function kindOf(role: SshRole, requestedType: string): 'user' | 'host' {
  if (requestedType !== 'user' && requestedType !== 'host') refuse("cert_type must be either 'user' or 'host'");
  const allowed = requestedType === 'user' ? role.allow_user_certificates : role.allow_host_certificates;
  if (!allowed) refuse(`cert_type '${requestedType}' is not allowed by role`);
  return requestedType;
}

const mostIdCharacters = 1024;

function keyIdOf(
  { input: { key_id: requestedId = '' }, params, caller }: AskedCall,
  role: SshRole,
  key: SshPublicKey,
): string {
  if (requestedId !== '' && !role.allow_user_key_ids) refuse('setting key_id is not allowed by role');
  const usual =
    caller.displayName === '' ? 'vault-{{public_key_hash}}' : 'vault-{{token_display_name}}-{{public_key_hash}}';
  const values: Readonly<Record<string, () => string>> = {
    token_display_name: () => caller.displayName,
    role_name: () => params.role,
    public_key_hash: () => createHash('sha256').update(key.blob).digest('hex'),
  };
  // All placeholders are replaced in one pass, so that values are not expanded as templates.
  const id =
    requestedId ||
    (role.key_id_format || usual).replace(/\{\{(\w+)\}\}/g, (all, name: string) =>
      Object.hasOwn(values, name) ? values[name]!() : all,
    );
  checkVisible(id, 'key_id');
  if (id.length > mostIdCharacters) refuse(`key_id is longer than ${mostIdCharacters} characters`);
  return id;
}

function ttlOf({ input: { ttl: requestedTtl }, mount }: AskedCall, role: SshRole): number {
  const ttl = (requestedTtl ?? role.ttl) || mount.defaultLeaseTtlSeconds;
  const most = role.max_ttl || mount.maxLeaseTtlSeconds;
  if (ttl > most && requestedTtl !== undefined) refuse(`ttl is larger than maximum allowed ${most}`);
  return Math.min(ttl, most);
}

const roleParameter = { params: { role: 'name-at' }, paramDocs: { role: 'Name of the role.' } } as const;

/** Sign a key, or generate one with its certificate. */
export const signPaths = [
  path('sign/:role', {
    summary: 'Signs public keys.',
    ...roleParameter,
    write: {
      summary: 'Sign a public key.',
      operationId: 'sign-certificate',
      input: Asked.extend({ public_key: string().optional().describe('The public key, in OpenSSH format.') }),
      output: certificateOutput,
      async run(call) {
        const { input, params, storage } = call;
        const role = await roles.require(storage, params.role, `Unknown role: ${params.role}`);
        if (!input.public_key) refuse('missing public_key');
        const key = readPublicKey(input.public_key, 'failed to parse public_key as SSH key');
        checkKey(key, role);
        return data(await signed(call, role, key));
      },
    },
  }),
  path('issue/:role', {
    summary: 'Generates keys with certificates.',
    ...roleParameter,
    write: {
      summary: 'Generate a key pair and sign it. The private key is shown once.',
      operationId: 'issue-certificate',
      input: Asked.extend({
        key_type: announced(string(), { enum: ['rsa', 'ed25519', 'ec'], default: 'rsa' })
          .optional()
          .describe('Type of the generated key.'),
        key_bits: int().optional().describe('Size of the generated key. Default: 4096 for rsa, 256 for ec.'),
      }),
      output: certificateOutput.extend({ private_key: z.string(), private_key_type: z.string() }),
      async run(call) {
        const { input, params, storage } = call;
        const role = await roles.require(storage, params.role, `unknown role: ${params.role}`);
        if (role.key_type !== 'ca') refuse(`role key type '${role.key_type}' not allowed to issue key pairs`);
        const { key_type = 'rsa', key_bits = 0 } = input;
        checkAskedKey(role, key_type, key_bits);
        const key = await makeKey(key_type, key_bits);
        const certificate = await signed(call, role, readPublicKey(publicLine(key), 'made key'));
        return data({ ...certificate, private_key: shownPrivateKey(key), private_key_type: key_type });
      },
    },
  }),
];
