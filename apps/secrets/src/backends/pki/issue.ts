import {
  type Extension,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_cRLDistributionPoints,
  id_ce_freshestCRL,
  id_ce_subjectKeyIdentifier,
  id_pe_authorityInfoAccess,
} from '@peculiar/asn1-x509';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { bool, commaList, int, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { certificatePem } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data, type Reply, secret } from '../../sdk/reply';
import { certificateOf, type Issuer, issuerPem } from './ca';
import { isSelfSigned } from './certificate';
import { type ReadRequest, readRequest } from './csr';
import { formatFields, formatOf, keyFormatFields, leafFields, nameFields, openKeyFields } from './issue-fields';
import { checkedKeyRules, formatKey, makeShownKey, type ShownKey } from './key-pair';
import { type Leaf, type LeafCall, signLeaf } from './leaf';
import { requestedNames } from './requested-names';
import { filledRole, type Role, roleFields, roles, unknownRole, verbatimRole } from './role';
import { type ReadyIssuer, readyIssuer } from './signing';

/** The lease kind of certificates. */
export const leaseKind = 'pki';

const IssueInput = z.object({ ...nameFields, ...leafFields, ...openKeyFields, ...formatFields, ...keyFormatFields });
/** The CSR of a request. */
export const csrField = { csr: string().optional().describe('The certificate request (CSR), in PEM.') };
const SignInput = z.object({ ...csrField, ...nameFields, ...leafFields, ...formatFields });
const VerbatimInput = SignInput.extend({
  key_usage: commaList().optional().describe('Key usages.'),
  ext_key_usage: commaList().optional().describe('Purposes.'),
  ext_key_usage_oids: commaList().optional().describe('Extended key usages, as OIDs.'),
  signature_bits: int().optional().describe('Hash size of signatures by RSA issuers.'),
  use_pss: bool().optional().describe('Use PSS for signatures by RSA issuers.'),
  basic_constraints_valid_for_non_ca: bool()
    .optional()
    .describe('Mark the certificate as not a CA in its basic constraints. Default: the role’s setting.'),
});

const signedOutput = z.object({
  certificate: z.string(),
  issuing_ca: z.string(),
  ca_chain: z.array(z.string()).optional(),
  serial_number: z.string(),
  not_before: z.int(),
  expiration: z.int(),
});
const issuedOutput = signedOutput.extend({ private_key: z.string(), private_key_type: z.string() });

type LeafInput = Omit<z.output<typeof SignInput>, 'csr'> & { readonly private_key_format?: string };

/** Signs, stores and answers a leaf certificate. */
async function issueLeaf(call: LeafCall, ready: ReadyIssuer, role: Role, input: LeafInput, leaf: Leaf): Promise<Reply> {
  const format = formatOf(input);
  const { der, serial, notBeforeMs, notAfterMs } = await signLeaf(call, ready, role, input, leaf);
  const shown = {
    ...shownCertificate(der, ready, format, input.remove_roots_from_chain ?? false),
    serial_number: serial,
    not_before: Math.floor(notBeforeMs / 1000),
    expiration: Math.floor(notAfterMs / 1000),
  };
  const answer = leaf.key ? withKey(shown, leaf.key, format, input) : shown;
  if (!role.generate_lease) return data(answer);
  const ttlSeconds = Math.max(1, Math.floor((notAfterMs - call.nowMs) / 1000));
  return secret(leaseKind, { data: answer, internal: { serial_number: serial }, ttlSeconds, renewable: false });
}

/** A certificate and its chain in the requested format. */
export function shownCertificate(der: Buffer, { issuer, chain }: ReadyIssuer, format: string, withoutRoots: boolean) {
  const above = chain.filter((one) => !withoutRoots || !isSelfSigned(certificateOf(one)));
  const show = (bytes: Buffer) => (format === 'der' ? bytes.toString('base64') : certificatePem(bytes));
  const ofIssuer = (one: Issuer) => (format === 'der' ? one.certificate : issuerPem(one));
  const ca_chain = above.map(ofIssuer);
  return {
    certificate: format === 'pem_bundle' ? [show(der), ...ca_chain].join('\n') : show(der),
    issuing_ca: ofIssuer(issuer),
    ...(ca_chain.length > 0 && { ca_chain }),
  };
}

/** Adds the generated private key to the response; in a bundle the key comes first. */
export function withKey<T extends { readonly certificate: string }>(
  shown: T,
  key: ShownKey,
  format: string,
  { private_key_format: keyFormat = 'der' }: { readonly private_key_format?: string },
) {
  const private_key = formatKey(key, format, keyFormat);
  return {
    ...shown,
    certificate: format === 'pem_bundle' ? `${private_key}\n${shown.certificate}` : shown.certificate,
    private_key,
    private_key_type: key.type,
  };
}

type RoleParams = { readonly role: string; readonly ref?: string };

/** The certificate that a request gets from a role, and its issuer. */
export interface Allowed {
  readonly role: Role;
  readonly ready: ReadyIssuer;
  readonly named: ReturnType<typeof requestedNames>;
}

type RoleCall<Input> = Pick<Call<RoleParams, Input>, 'storage' | 'params' | 'input' | 'filled' | 'warn'>;

const roleOf = async (call: RoleCall<unknown>): Promise<Role> =>
  filledRole(await roles.require(call.storage, call.params.role, unknownRole(call.params.role)), (text) =>
    call.filled(text),
  );

/** Checks a request for a key and a certificate. Throws `invalid` if the role does not allow it. */
export async function allowedIssue(call: RoleCall<z.output<typeof IssueInput>>): Promise<Allowed> {
  const { input, params, storage } = call;
  const role = await roleOf(call);
  if (role.key_type === 'any' && !input.key_type) {
    refuse(
      'role key type "any" not allowed for issuing certificates without providing key_type and/or key_bits request parameters',
    );
  }
  const open = role.key_type === 'any';
  const rules = open
    ? checkedKeyRules({ ...role, key_type: input.key_type!, key_bits: input.key_bits ?? role.key_bits })
    : role;
  if (!open) requireSameKey(role, input);
  const ready = await readyIssuer(storage, params.ref ?? role.issuer_ref);
  formatOf(input);
  return { role: rules, ready, named: requestedNames(rules, input, undefined, (text) => call.warn(text)) };
}

const issuing = operation<RoleParams, typeof IssueInput>({
  summary: 'Generate a private key and issue a certificate.',
  input: IssueInput,
  output: issuedOutput,
  async run(call) {
    const { role, ready, named } = await allowedIssue(call);
    const key = await makeShownKey(role);
    return issueLeaf(call, ready, role, call.input, { ...named, publicKey: key.publicKey, key });
  },
});

/** Throws `invalid` if the request asks for a different key type or size than the role. */
function requireSameKey(role: Role, request: { readonly key_type?: string; readonly key_bits?: number }): void {
  if (request.key_type !== undefined && request.key_type !== role.key_type)
    refuse(`role requires keys of type ${role.key_type}`);
  if (request.key_bits && request.key_bits !== role.key_bits) refuse(`role requires keys of ${role.key_bits} bits`);
}

/** Throws `invalid` if the role does not allow the key of the CSR. */
export function checkKey(role: Role, { keyType, keyBits }: ReadRequest): void {
  if (role.key_type !== 'any' && role.key_type !== keyType) refuse(`role requires keys of type ${role.key_type}`);
  const least = role.key_type !== 'any' ? role.key_bits : keyType === 'ec' ? 224 : 2048;
  if (keyType !== 'ed25519' && keyBits < least) {
    refuse(
      role.key_type === 'any'
        ? 'RSA keys < 2048 bits are unsafe and not supported'
        : `role requires a minimum of a ${least}-bit key, but CSR's key is ${keyBits} bits`,
    );
  }
}

/** Checks a CSR. Throws `invalid` if the role does not allow it. */
export async function allowedSign(
  call: RoleCall<z.output<typeof SignInput>>,
): Promise<Allowed & { readonly csr: ReadRequest }> {
  const { input, params, storage } = call;
  const role = await roleOf(call);
  const ready = await readyIssuer(storage, params.ref ?? role.issuer_ref);
  formatOf(input);
  const csr = readRequest(input.csr ?? '');
  checkKey(role, csr);
  const named = requestedNames(role, input, csr, (text) => call.warn(text));
  warnOfConstraints(role, csr, call);
  warnOfUnread(role, input, call);
  return { role, ready, named, csr };
}

const signing = operation<RoleParams, typeof SignInput>({
  summary: 'Sign a CSR within the limits of the role.',
  input: SignInput,
  output: signedOutput,
  async run(call) {
    const { role, ready, named, csr } = await allowedSign(call);
    return issueLeaf(call, ready, role, call.input, { ...named, publicKey: csr.publicKey });
  },
});

function warnOfConstraints(role: Role, { extensions }: ReadRequest, call: Pick<LeafCall, 'warn'>): void {
  const asks = extensions.some(({ extnID }) => extnID === id_ce_basicConstraints);
  if (!asks || role.basic_constraints_valid_for_non_ca) return;
  call.warn('specified CSR contained a Basic Constraints extension that was ignored during issuance');
}

function warnOfUnread(role: Role, input: LeafInput, call: Pick<LeafCall, 'warn'>): void {
  const set = (flag: string) => `was provided but the role is set with "${flag}" set to true`;
  if (role.use_csr_common_name && input.common_name) call.warn(`the common_name field ${set('use_csr_common_name')}`);
  if (role.use_csr_sans && input.alt_names?.length) call.warn(`the alt_names field ${set('use_csr_sans')}`);
}

/** Extensions that are never copied from a CSR. */
const ownExtensions: readonly string[] = [
  id_ce_basicConstraints,
  id_ce_subjectKeyIdentifier,
  id_ce_authorityKeyIdentifier,
  id_pe_authorityInfoAccess,
  id_ce_cRLDistributionPoints,
  id_ce_freshestCRL,
];

/** CSR extensions that are copied: all except `ownExtensions`. */
export const takenOver = ({ extensions }: ReadRequest): readonly Extension[] =>
  extensions.filter(({ extnID }) => !ownExtensions.includes(extnID));

const signingVerbatim = operation<{ readonly role?: string; readonly ref?: string }, typeof VerbatimInput>({
  summary: 'Sign a CSR unchanged, with all of its names.',
  input: VerbatimInput,
  output: signedOutput,
  async run(call) {
    const { input, params, storage } = call;
    const { role: name } = params;
    const named = name === undefined ? undefined : await roles.require(storage, name, unknownRole(name));
    const role = verbatimRole(named, {
      key_usage: input.key_usage ?? roleFields.defaults.key_usage,
      ext_key_usage: input.ext_key_usage ?? [],
      ext_key_usage_oids: input.ext_key_usage_oids ?? [],
      signature_bits: input.signature_bits ?? 0,
      use_pss: input.use_pss ?? false,
      ...(input.basic_constraints_valid_for_non_ca !== undefined && {
        basic_constraints_valid_for_non_ca: input.basic_constraints_valid_for_non_ca,
      }),
    });
    const ready = await readyIssuer(storage, params.ref ?? role.issuer_ref);
    formatOf(input);
    const csr = readRequest(input.csr ?? '');
    checkKey(role, csr);
    warnOfConstraints(role, csr, call);
    const { subject, names, publicKey } = csr;
    const extensions = takenOver(csr);
    return issueLeaf(call, ready, { ...role, signature_bits: input.signature_bits ?? 0 }, input, {
      ...{ subject, names, publicKey, extensions },
    });
  },
});

/** Issues certificates for generated keys and for CSRs. */
export const issuePaths = [
  path('issue/:role', {
    summary: 'Issues certificates with private keys.',
    write: { ...issuing, operationId: 'issue-with-role' },
  }),
  path('issuer/:ref/issue/:role', {
    summary: 'Issues certificates with private keys, with a given issuer.',
    write: { ...issuing, operationId: 'issuer-issue-with-role' },
  }),
  path('sign/:role', {
    summary: 'Signs CSRs within the limits of a role.',
    write: { ...signing, operationId: 'sign-with-role' },
  }),
  path('issuer/:ref/sign/:role', {
    summary: 'Signs CSRs within the limits of a role, with a given issuer.',
    write: { ...signing, operationId: 'issuer-sign-with-role' },
  }),
  path('sign-verbatim', {
    summary: 'Signs CSRs unchanged.',
    write: { ...signingVerbatim, operationId: 'sign-verbatim' },
  }),
  path('sign-verbatim/:role', {
    summary: 'Signs CSRs unchanged, with the lifetimes of a role.',
    write: { ...signingVerbatim, operationId: 'sign-verbatim-with-role' },
  }),
  path('issuer/:ref/sign-verbatim', {
    summary: 'Signs CSRs unchanged, with a given issuer.',
    write: { ...signingVerbatim, operationId: 'issuer-sign-verbatim' },
  }),
  path('issuer/:ref/sign-verbatim/:role', {
    summary: 'Signs CSRs unchanged, with a given issuer and the lifetimes of a role.',
    write: { ...signingVerbatim, operationId: 'issuer-sign-verbatim-with-role' },
  }),
];
