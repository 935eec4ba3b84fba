import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { EndingInput, endingOf } from '../../sdk/ending';
import { PageInput, pageOf } from '../../sdk/paging';
import { operation, path } from '../../sdk/path';
import { certificatePem } from '../../sdk/pem';
import { data, empty, keys, missing, raw } from '../../sdk/reply';
import { namesIn } from './alternative-names';
import { type Ca, findCa, type Issuer, issuerRef, requireIssuer } from './ca';
import { readCertificate } from './certificate';
import { chainOf } from './chain';
import { kindOfKey } from './key-pair';
import { readSerial } from './serial';
import { issuerOf, whenRevoked } from './signing';
import {
  findCertificate,
  findCertificates,
  listCertificates,
  listExpiring,
  type StoredCertificate,
} from './stored-certificate';
import { nameText, ownNames } from './subject';

type Reading = Pick<Call, 'storage'>;

/** Media types for clients that expect the bare certificate. */
const oneCertificate = { media: ['application/pkix-cert'] } as const;
const pemFile = { media: ['application/x-pem-file'] } as const;
const chainOfPem = { media: ['application/pem-certificate-chain'] } as const;

const derOf = ({ certificate }: Issuer): Buffer => Buffer.from(certificate, 'base64');

const chainText = (ca: Ca, issuer: Issuer): string =>
  chainOf(ca, issuer)
    .map((one) => certificatePem(derOf(one)))
    .join('\n');

async function defaultCertificate({ storage }: Reading): Promise<Buffer | undefined> {
  const issuer = issuerRef(await findCa(storage), 'default');
  return issuer && derOf(issuer);
}

const certificateOutput = z.object({
  certificate: z.string(),
  ca_chain: z.string().optional(),
  issuer_id: z.string().optional(),
  revocation_time: z.int(),
  revocation_time_rfc3339: z.string(),
});

const notRevoked = { revocation_time: 0, revocation_time_rfc3339: '' };

async function findBySerial(storage: Call['storage'], text: string) {
  const serial = readSerial(text);
  return serial === undefined ? undefined : findCertificate(storage, serial);
}

const mostDetailed = 1000;

function details({ der }: StoredCertificate) {
  const { tbs, publicKey, notBeforeMs, notAfterMs } = readCertificate(Buffer.from(der, 'base64'));
  const { type, bits } = kindOfKey(publicKey);
  const { dns, emails, addresses, uris } = namesIn(tbs.extensions);
  return {
    common_name: ownNames(tbs.subject).commonName,
    issuer: nameText(tbs.issuer),
    key_type: type,
    key_bits: bits,
    not_before: new Date(notBeforeMs).toISOString(),
    not_after: new Date(notAfterMs).toISOString(),
    ...(dns.length > 0 && { dns_names: dns }),
    ...(emails.length > 0 && { email_addresses: emails }),
    ...(addresses.length > 0 && { ip_addresses: addresses }),
    ...(uris.length > 0 && { uris }),
  };
}

const open = { auth: 'none' } as const;
const rawAnswer = { auth: 'none', responseFormat: 'raw' } as const;
const rawCertificate = (isPem: boolean) =>
  operation<{ readonly serial: string }>({
    summary: 'Read a certificate without an envelope. The serial number ca is the default issuer.',
    judges: 'nothing',
    ...(isPem ? pemFile : oneCertificate),
    async run(call) {
      const { serial } = call.params;
      const found = serial === 'ca' ? undefined : await findBySerial(call.storage, serial);
      const der = found ? Buffer.from(found.der, 'base64') : serial === 'ca' && (await defaultCertificate(call));
      return der ? raw(isPem ? certificatePem(der) : der) : missing;
    },
  });

const rawIssuer = (form: 'pem' | 'der') =>
  operation<{ readonly ref: string }>({
    summary: 'Read the certificate of an issuer without an envelope.',
    judges: 'nothing',
    ...(form === 'pem' ? chainOfPem : oneCertificate),
    async run({ params, storage }) {
      const { certificate } = requireIssuer(await findCa(storage), params.ref);
      const der = Buffer.from(certificate, 'base64');
      return raw(form === 'pem' ? certificatePem(der) : der);
    },
  });

/** Unauthenticated reads: certificates of issuers and the certificates they issued. */
export const fetchPaths = [
  path('ca', {
    summary: 'The certificate of the default issuer, as DER.',
    ...rawAnswer,
    read: {
      summary: 'Read the certificate of the default issuer, as DER.',
      operationId: 'read-ca-der',
      judges: 'nothing',
      ...oneCertificate,
      mayBeEmpty: true,
      async run(call) {
        const der = await defaultCertificate(call);
        return der ? raw(der) : empty;
      },
    },
  }),
  path('ca/pem', {
    summary: 'The certificate of the default issuer, as PEM.',
    ...rawAnswer,
    read: {
      summary: 'Read the certificate of the default issuer, as PEM.',
      operationId: 'read-ca-pem',
      judges: 'nothing',
      ...chainOfPem,
      mayBeEmpty: true,
      async run(call) {
        const der = await defaultCertificate(call);
        return der ? raw(certificatePem(der)) : empty;
      },
    },
  }),
  path('ca_chain', {
    summary: 'The chain of the default issuer, as PEM.',
    ...rawAnswer,
    read: {
      summary: 'Read the chain of the default issuer, as PEM.',
      operationId: 'read-ca-chain-pem',
      judges: 'nothing',
      ...chainOfPem,
      mayBeEmpty: true,
      async run({ storage }) {
        const ca = await findCa(storage);
        const issuer = issuerRef(ca, 'default');
        return issuer ? raw(chainText(ca, issuer)) : empty;
      },
    },
  }),
  path('cert/ca', {
    summary: 'The certificate of the default issuer.',
    ...open,
    read: {
      summary: 'Read the certificate of the default issuer.',
      operationId: 'read-cert-ca',
      judges: 'nothing',
      output: certificateOutput,
      async run({ storage }) {
        const issuer = requireIssuer(await findCa(storage), 'default');
        return data({ certificate: certificatePem(derOf(issuer)), ...notRevoked });
      },
    },
  }),
  path('cert/ca_chain', {
    summary: 'The chain of the default issuer.',
    ...open,
    read: {
      summary: 'Read the chain of the default issuer.',
      operationId: 'read-cert-ca-chain',
      judges: 'nothing',
      output: certificateOutput,
      async run({ storage }) {
        const ca = await findCa(storage);
        const text = chainText(ca, requireIssuer(ca, 'default'));
        return data({ certificate: text, ca_chain: text, ...notRevoked });
      },
    },
  }),
  path('cert/:serial', {
    summary: 'A certificate by serial number.',
    ...open,
    params: { serial: 'segment' },
    read: {
      summary: 'Read a stored certificate, and whether it is revoked.',
      operationId: 'read-cert',
      judges: 'nothing',
      output: certificateOutput,
      async run({ params, storage }) {
        const found = await findBySerial(storage, params.serial);
        if (!found) return missing;
        const { der, authority } = found;
        const certificate = certificatePem(Buffer.from(der, 'base64'));
        const ca = await findCa(storage);
        const revokedAtMs = whenRevoked(ca, found);
        if (revokedAtMs === undefined) return data({ certificate, ...notRevoked });
        const issuer = found.revokedAtMs === undefined ? undefined : issuerOf(ca, authority);
        return data({
          certificate,
          ...(issuer && { issuer_id: issuer.issuer_id }),
          revocation_time: Math.floor(revokedAtMs / 1000),
          revocation_time_rfc3339: new Date(revokedAtMs).toISOString(),
        });
      },
    },
  }),
  path('cert/:serial/raw', {
    summary: 'A certificate, as DER.',
    ...rawAnswer,
    params: { serial: 'segment' },
    read: { ...rawCertificate(false), operationId: 'read-cert-raw-der' },
  }),
  path('cert/:serial/raw/pem', {
    summary: 'A certificate, as PEM.',
    ...rawAnswer,
    params: { serial: 'segment' },
    read: { ...rawCertificate(true), operationId: 'read-cert-raw-pem' },
  }),
  path('issuer/:ref/pem', {
    summary: 'The certificate of an issuer, as PEM.',
    ...rawAnswer,
    read: { ...rawIssuer('pem'), operationId: 'read-issuer-pem' },
  }),
  path('issuer/:ref/der', {
    summary: 'The certificate of an issuer, as DER.',
    ...rawAnswer,
    read: { ...rawIssuer('der'), operationId: 'read-issuer-der' },
  }),
  path('issuer/:ref/json', {
    summary: 'The certificate of an issuer and its chain.',
    ...open,
    read: {
      summary: 'Read the certificate of an issuer and its chain.',
      operationId: 'read-issuer-json',
      judges: 'nothing',
      output: z.object({
        certificate: z.string(),
        ca_chain: z.array(z.string()),
        issuer_id: z.string(),
        issuer_name: z.string(),
      }),
      async run({ params, storage }) {
        const ca = await findCa(storage);
        const issuer = requireIssuer(ca, params.ref);
        const pem = (text: string) => certificatePem(Buffer.from(text, 'base64'));
        return data({
          certificate: pem(issuer.certificate),
          ca_chain: chainOf(ca, issuer).map((one) => pem(one.certificate)),
          issuer_id: issuer.issuer_id,
          issuer_name: issuer.issuer_name,
        });
      },
    },
  }),
  path('certs', {
    summary: 'The stored certificates.',
    list: {
      summary: 'List the serial numbers of the stored certificates.',
      operationId: 'list-certs',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await listCertificates(storage, pageOf(input))),
    },
  }),
  path('certs/detailed', {
    summary: 'The stored certificates, with their contents.',
    list: {
      summary: 'List certificates with their contents; at most 1,000 without a limit.',
      operationId: 'list-certs-detailed',
      input: EndingInput,
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ input, storage, nowMs, warn }) {
        const range = endingOf(input, nowMs);
        if (range !== undefined) {
          const expiring = await listExpiring(storage, range);
          const info = expiring.map(([serial, certificate]) => [serial, details(certificate)] as const);
          return keys(
            info.map(([serial]) => serial),
            Object.fromEntries(info),
          );
        }
        const page = pageOf(input);
        const limit = Math.min(page.limit ?? mostDetailed, mostDetailed);
        const serials = await listCertificates(storage, { ...page, limit });
        if (serials.length === mostDetailed) warn(`there may be more: continue with after=${serials.at(-1)}`);
        const certificates = await findCertificates(storage, serials);
        const found = serials.filter((serial) => certificates.has(serial));
        return keys(found, Object.fromEntries(found.map((serial) => [serial, details(certificates.get(serial)!)])));
      },
    },
  }),
];
