import { type Extension, id_ce_subjectAltName, type Name } from '@peculiar/asn1-x509';
import { z } from 'zod';
import { publicDer } from '../../sdk/asn1';
import { callWith } from '../../sdk/call';
import { makeRequest } from '../../sdk/certificate-request';
import { bool, commaList, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { certificatePem, pemOf } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { algorithmFor } from '../../sdk/signature-algorithm';
import { type AlternativeNames, alternativeNames } from './alternative-names';
import { changeCa, withKey } from './ca';
import {
  type CertificateContent,
  isSelfSigned,
  keyIdOf,
  makeCertificate,
  type ReadCertificate,
  readCertificate,
  wholeSeconds,
} from './certificate';
import { attributesOf, type ReadRequest, readRequest } from './csr';
import { authorityKeyId, basicConstraints, permittedDomains, subjectKeyId, urlExtensions } from './extension';
import {
  authorityFields,
  authorityKey,
  authorityRole,
  generationFields,
  signatureFields,
  subjectFields,
} from './generation';
import { shownCertificate, takenOver } from './issue';
import { formatFields, formatOf, nameFields } from './issue-fields';
import { formatKey, shownKeyOf } from './key-pair';
import { pemBlocks } from './pem';
import { requestedNames } from './requested-names';
import type { Role } from './role';
import { authorityUsages, noSubjectWarning, noUrlsWarning } from './root';
import { newSerial, serialText } from './serial';
import { authorityOf, type ReadyIssuer, readyIssuer } from './signing';
import { keepCertificate } from './stored-certificate';
import { hasUrls } from './url-set';
import { mountHasUrls } from './urls';
import { keyUsageExtension } from './usages';
import { validityFor } from './validity';

const GenerateInput = z.object({
  ...generationFields,
  add_basic_constraints: bool().optional().describe('Add the basic constraints of a CA to the request.'),
});

const generating = operation<{ readonly exported: string }, typeof GenerateInput>({
  summary: 'Create a key and a certificate request (CSR) for an intermediate CA.',
  stepUp: true,
  input: GenerateInput,
  output: z.object({
    csr: z.string(),
    key_id: z.string(),
    private_key: z.string().optional(),
    private_key_type: z.string().optional(),
  }),
  async run(call) {
    const { input, params, storage } = call;
    const format = formatOf(input);
    const { role, key, createdKey, keyId, isShown } = await authorityKey(storage, params.exported, input);
    const { subject, names } = requestedNames(role, input, undefined, (text) => call.warn(text));
    const extensions = [
      ...alternativeNames(names, subject.length === 0),
      ...(input.add_basic_constraints ? [basicConstraints(true)] : []),
    ];
    const der = await makeRequest(
      { subject, attributes: attributesOf(extensions) },
      {
        key,
        algorithm: algorithmFor(key, role.signature_bits, role.use_pss),
      },
    );
    if (createdKey) await changeCa(storage, (ca, tx) => withKey(ca, tx, createdKey));
    if (!(await mountHasUrls(storage))) {
      call.warn(
        `${noUrlsWarning} Since this certificate is an intermediate, it might be useful to regenerate this certificate after fixing this problem for the root mount.`,
      );
    }
    const csr = format === 'der' ? der.toString('base64') : pemOf(der, 'CERTIFICATE REQUEST');
    if (!isShown) return data({ csr, key_id: keyId });
    const shown = shownKeyOf(key);
    const private_key = formatKey(shown, format, input.private_key_format ?? 'der');
    return data({
      csr: format === 'pem_bundle' ? `${private_key}\n${csr}` : csr,
      key_id: keyId,
      private_key,
      private_key_type: shown.type,
    });
  },
});

const SignInput = z.object({
  csr: string().optional().describe('The certificate request (CSR), in PEM.'),
  ...nameFields,
  ...subjectFields,
  ...signatureFields,
  ...authorityFields,
  ...formatFields,
  use_csr_values: bool().optional().describe('Use the subject, alternative names and extensions of the request.'),
  key_usage: commaList().optional().describe('Key usages; CertSign and CRLSign by default.'),
  skid: string().optional().describe('Subject key ID in hexadecimal, to reissue a CA certificate.'),
});

function askedKeyId(text: string | undefined): Buffer | undefined {
  if (!text) return undefined;
  const hex = text.replace(/[:\- ]/g, '');
  return /^([0-9a-f]{2}){1,64}$/i.test(hex)
    ? Buffer.from(hex, 'hex')
    : refuse('cannot parse requested SKID value as hex: it holds other characters');
}

/** Path length of the new CA; undefined for no limit. Throws `invalid` if it exceeds the limit of the issuer. */
function pathLengthBelow(
  { pathLength: own }: ReadCertificate,
  requestedLength: number | undefined,
): number | undefined {
  if (own === 0) {
    refuse('signing certificate has a max path length of zero, and cannot issue further CA certificates');
  }
  const most = own === undefined ? undefined : own - 1;
  if (requestedLength === undefined) return most;
  if (most !== undefined && (requestedLength < 0 || requestedLength > most)) {
    refuse(`max_path_length: the max path length of the signing certificate allows no more than ${most}`);
  }
  return requestedLength < 0 ? undefined : requestedLength;
}

interface Signed {
  readonly subject: Name;
  readonly names: AlternativeNames;
  readonly extensions: readonly Extension[];
}

function signedNames(
  role: Role,
  input: z.output<typeof SignInput>,
  csr: ReadRequest,
  warn: (text: string) => void,
): Signed {
  if (!input.use_csr_values) return { ...requestedNames(role, input, csr, warn), extensions: [] };
  return { subject: csr.subject, names: csr.names, extensions: takenOver(csr) };
}

const signing = operation<{ readonly ref?: string }, typeof SignInput>({
  summary: 'Sign the certificate request (CSR) of an intermediate CA.',
  stepUp: true,
  input: SignInput,
  output: z.object({
    certificate: z.string(),
    issuing_ca: z.string(),
    ca_chain: z.array(z.string()),
    serial_number: z.string(),
    expiration: z.int(),
  }),
  async run(call) {
    const { input, params, storage, nowMs, mount } = call;
    const warn = (text: string) => call.warn(text);
    const format = formatOf(input);
    const ready = await readyIssuer(storage, params.ref ?? 'default');
    const csr = readRequest(input.csr ?? '');
    if (csr.keyType === 'rsa' && csr.keyBits < 2048) refuse('RSA keys < 2048 bits are unsafe and not supported');
    const role = {
      ...authorityRole(input, { key_type: 'any', key_bits: 0 }),
      // Only the key of the CSR is used, unless `use_csr_values` is set.
      use_csr_common_name: !input.common_name,
      use_csr_sans: false,
      signature_bits: input.signature_bits ?? 0,
    };
    const { subject, names, extensions } = signedNames(role, input, csr, warn);
    // The CA may outlive its issuer, because the issuer can be renewed.
    const validity = validityFor(role, input, { nowMs, mount, warn });
    const pathLength = pathLengthBelow(ready.certificate, input.max_path_length);
    const own = [
      ...keyUsageExtension(input.key_usage ?? authorityUsages),
      basicConstraints(true, pathLength),
      subjectKeyId(askedKeyId(input.skid) ?? keyIdOf(csr.publicKey)),
      ...authorityKeyId(ready.keyId),
      ...urlExtensions(ready.urls),
      ...alternativeNames(names, subject.length === 0),
      ...permittedDomains(input.permitted_dns_domains ?? []),
    ];
    const fixed = own.filter(
      ({ extnID }) => extnID === id_ce_subjectAltName || !extensions.some((one) => one.extnID === extnID),
    );
    const requested = extensions.filter(({ extnID }) => !fixed.some((one) => one.extnID === extnID));
    const serial = serialText(newSerial());
    const { signature_bits: bits, use_pss: usePss } = role;
    const content = { serial, subject, issuer: ready.name, publicKey: csr.publicKey, ...validity };
    const der = await makeCertificate({ ...content, extensions: [...fixed, ...requested] }, ready.signer(bits, usePss));
    keepCertificate(storage, serial, {
      der: der.toString('base64'),
      authority: authorityOf(ready.certificate),
      notAfterMs: wholeSeconds(validity.notAfterMs),
    });
    if (wholeSeconds(validity.notAfterMs) > ready.certificate.notAfterMs) {
      warn(
        "The expiration time for the signed certificate is after the CA's expiration time. If the new certificate is not treated as a root, validation paths with the certificate past the issuing CA's expiration time will fail.",
      );
    }
    if (subject.length === 0) warn(noSubjectWarning);
    if (!hasUrls(ready.urls)) warn(noUrlsWarning);
    if (pathLength === 0) {
      warn(
        'Max path length of the signed certificate is zero. This certificate cannot be used to issue intermediate CA certificates.',
      );
    }
    const shown = shownCertificate(der, ready, format, false);
    const text = format === 'der' ? der.toString('base64') : certificatePem(der);
    return data({
      ...shown,
      ca_chain: [text, ...(shown.ca_chain ?? [])],
      serial_number: serial,
      expiration: Math.floor(validity.notAfterMs / 1000),
    });
  },
});

const SelfIssuedInput = z.object({
  certificate: string().optional().describe('A self-issued CA certificate, in PEM.'),
  require_matching_certificate_algorithms: bool().optional().describe('Refuse keys of different types.'),
});

const signingSelfIssued = operation<{ readonly ref?: string }, typeof SelfIssuedInput>({
  summary: 'Sign a self-issued certificate of another CA, to replace it.',
  stepUp: true,
  input: SelfIssuedInput,
  output: z.object({ certificate: z.string(), issuing_ca: z.string() }),
  async run({ input, params, storage }) {
    const [block] = pemBlocks(input.certificate ?? '');
    if (!block) refuse('certificate could not be PEM-decoded');
    const selfIssued = readCertificate(block.der);
    if (!selfIssued.isCa) refuse('given certificate is not a CA certificate');
    if (!isSelfSigned(selfIssued)) refuse('given certificate is not self-issued');
    const ready = await readyIssuer(storage, params.ref ?? 'default');
    if (input.require_matching_certificate_algorithms) requireSameType(selfIssued, ready);
    const ours = [...authorityKeyId(ready.keyId), ...urlExtensions(ready.urls)];
    const others = (selfIssued.tbs.extensions ?? []).filter(({ extnID }) => !ours.some((one) => one.extnID === extnID));
    const serial = serialText(newSerial());
    const content: CertificateContent = {
      serial,
      subject: selfIssued.tbs.subject,
      issuer: ready.name,
      publicKey: publicDer(selfIssued.publicKey),
      notBeforeMs: selfIssued.notBeforeMs,
      notAfterMs: selfIssued.notAfterMs,
      extensions: [...others, ...ours],
    };
    const der = await makeCertificate(content, ready.signer(0, false));
    const { certificate, issuing_ca } = shownCertificate(der, ready, 'pem', false);
    keepCertificate(storage, serial, {
      der: der.toString('base64'),
      authority: authorityOf(ready.certificate),
      notAfterMs: selfIssued.notAfterMs,
    });
    return data({ certificate, issuing_ca });
  },
});

function requireSameType(selfIssued: ReadCertificate, { certificate }: ReadyIssuer): void {
  const [own, theirs] = [certificate.publicKey.asymmetricKeyType, selfIssued.publicKey.asymmetricKeyType];
  if (own === theirs) return;
  refuse(
    `signing certificate's public key algorithm (${own}) does not match submitted certificate's (${theirs}), and require_matching_certificate_algorithms is true`,
  );
}

/** Intermediate CAs. */
export const intermediatePaths = [
  path('intermediate/generate/:exported', {
    summary: 'Creates the CSR of an intermediate CA.',
    write: { ...generating, operationId: 'generate-intermediate' },
  }),
  path('issuers/generate/intermediate/:exported', {
    summary: 'Creates the CSR of an intermediate CA.',
    write: { ...generating, operationId: 'issuers-generate-intermediate' },
  }),
  path('intermediate/cross-sign', {
    summary: 'Creates a CSR with an existing key.',
    write: {
      ...generating,
      summary: 'Create a certificate request (CSR) with an existing key.',
      operationId: 'cross-sign-intermediate',
      run: (call) => generating.run(callWith(call, { params: { exported: 'existing' } })),
    },
  }),
  path('root/sign-intermediate', {
    summary: 'Signs intermediate CAs.',
    write: { ...signing, operationId: 'root-sign-intermediate' },
  }),
  path('issuer/:ref/sign-intermediate', {
    summary: 'Signs intermediate CAs with a given issuer.',
    write: { ...signing, operationId: 'issuer-sign-intermediate' },
  }),
  path('root/sign-self-issued', {
    summary: 'Signs self-issued certificates of other CAs.',
    sudo: true,
    write: { ...signingSelfIssued, operationId: 'root-sign-self-issued' },
  }),
  path('issuer/:ref/sign-self-issued', {
    summary: 'Signs self-issued certificates of other CAs with a given issuer.',
    sudo: true,
    write: { ...signingSelfIssued, operationId: 'issuer-sign-self-issued' },
  }),
];
