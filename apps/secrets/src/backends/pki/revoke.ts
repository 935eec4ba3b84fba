import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { publicDer } from '../../sdk/asn1';
import type { Call } from '../../sdk/call';
import { secretString, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, keys, type Reply } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { type Ca, certificateOf, changeCa, findCa, requireIssuer, revokedIssuer } from './ca';
import { isSelfSigned, isSignedBy, type ReadCertificate, readCertificate } from './certificate';
import { listRevocation, makeFirstLists } from './crl-build';
import { findCrlConfig } from './crl-config';
import { issuerOutput, showIssuer } from './issuers';
import { pemBlocks } from './pem';
import { listRevokedSerials, noteRevoked } from './revocations';
import { readSerial } from './serial';
import { authorityAbove } from './signing';
import { changeCertificate, findCertificate, keepCertificate, type StoredCertificate } from './stored-certificate';

/**
 * When a certificate was revoked, by this request or earlier; undefined if it has expired and can no longer be revoked.
 */
interface RevokedMoment {
  readonly revokedAtMs: number | undefined;
}

/**
 * Revokes a stored certificate: changes first its record, then the CRLs of its CA. A certificate that is already
 * revoked is not changed.
 */
export async function revokeKept(storage: Storage, nowMs: number, serial: string): Promise<RevokedMoment> {
  const { allow_expired_cert_revocation: allowExpired } = await findCrlConfig(storage);
  const ca = await findCa(storage);
  const after = await changeCertificate(storage, serial, (stored, tx) => {
    if (!stored) refuse(`certificate with serial ${serial} not found.`);
    if (stored.revokedAtMs !== undefined || (stored.notAfterMs <= nowMs + 2000 && !allowExpired)) return stored;
    // The issuer may have been imported after the certificate.
    const authority = stored.authority || authorityAbove(ca, readCertificate(Buffer.from(stored.der, 'base64')));
    noteRevoked(tx, authority, { serial, seconds: Math.floor(nowMs / 1000) });
    return { ...stored, authority, revokedAtMs: nowMs };
  });
  const { revokedAtMs, authority } = after;
  if (revokedAtMs !== undefined) {
    await listRevocation(storage, nowMs, authority, { serial, seconds: Math.floor(revokedAtMs / 1000) });
  }
  return { revokedAtMs };
}

const time = (ms: number) => ({
  revocation_time: Math.floor(ms / 1000),
  revocation_time_rfc3339: new Date(ms).toISOString(),
});

function answer(serial: string, { revokedAtMs }: RevokedMoment, warn: (text: string) => void): Reply {
  if (revokedAtMs !== undefined) return data({ ...time(revokedAtMs), state: 'revoked' });
  warn(
    `certificate with serial ${serial} already expired; refusing to add to CRL. Enable 'AllowExpiredCertRevocation' to allow revoking expired certificates.`,
  );
  return data(null);
}

function requireNoIssuer(ca: Ca, serial: string): void {
  const issuer = Object.values(ca.issuers).find((one) => certificateOf(one).serial === serial);
  if (issuer) refuse(`adding issuer (id: ${issuer.issuer_id}) to its own CRL is not allowed`);
}

/** Shorter strings are rejected. */
const shortestPem = 75;

/** Parses a certificate and stores it if needed. Throws `invalid` if no issuer of the mount signed it. */
async function keptFromText(storage: Storage, ca: Ca, text: string): Promise<ReadCertificate> {
  if (text.length < shortestPem) {
    refuse(
      'provided certificate data was too short; perhaps a path was passed to the API rather than the contents of a PEM file',
    );
  }
  const [block] = pemBlocks(text);
  if (!block) refuse('certificate contains no PEM data');
  const read = readCertificate(block.der);
  const der = read.der.toString('base64');
  const existing = await findCertificate(storage, read.serial);
  const other =
    "certificate with same serial but unequal value already present in this cluster's storage; refusing to revoke";
  if (existing) return existing.der === der ? read : refuse(other);
  const authority = authorityAbove(ca, read);
  if (authority === '') {
    refuse(
      'unable to verify signature on presented cert from any present issuer in this mount; certificates from previous CAs will need to have their issuing CA and key re-imported if revocation is necessary',
    );
  }
  const stored: StoredCertificate = { der, authority, notAfterMs: read.notAfterMs };
  await changeCertificate(storage, read.serial, (found, tx) => {
    if (found) return found.der === der ? found : refuse(other);
    keepCertificate(tx, read.serial, stored);
    return stored;
  });
  return read;
}

type RevokeInput = { readonly serial_number?: string; readonly certificate?: string };
type RevokeCall = Pick<Call, 'storage' | 'nowMs'> & { warn(text: string): void };

/** Revokes the certificate of a request; `prove` runs first and may throw. */
async function revoke(
  call: RevokeCall,
  input: RevokeInput,
  prove: (certificate: ReadCertificate) => void,
): Promise<Reply> {
  const { storage, nowMs } = call;
  const { serial_number: text, certificate } = input;
  if (text === undefined && certificate === undefined) {
    refuse('The serial number or certificate to revoke must be provided.');
  }
  if (text !== undefined && certificate !== undefined) {
    refuse('Must provide either the certificate or the serial to revoke; not both.');
  }
  const ca = await findCa(storage);
  const serial = text === undefined ? await serialOfText(call, ca, certificate!, prove) : readSerial(text);
  if (text === '') refuse('The serial number must be provided');
  const stored = serial === undefined ? undefined : await findCertificate(storage, serial);
  if (serial === undefined || !stored) refuse(`certificate with serial ${text ?? serial} not found.`);
  if (text !== undefined) prove(readCertificate(Buffer.from(stored.der, 'base64')));
  requireNoIssuer(ca, serial);
  return answer(serial, await revokeKept(storage, nowMs, serial), (warning) => call.warn(warning));
}

async function serialOfText(
  { storage }: RevokeCall,
  ca: Ca,
  text: string,
  prove: (certificate: ReadCertificate) => void,
): Promise<string> {
  const [block] = pemBlocks(text);
  if (block) prove(readCertificate(block.der));
  return (await keptFromText(storage, ca, text)).serial;
}

/** A check that throws `invalid` unless the key belongs to the certificate. */
function requireKey(text: string): (certificate: ReadCertificate) => void {
  if (text === '') refuse('Must have private key to revoke via the /revoke-with-key path.');
  let own: Buffer;
  try {
    own = publicDer(createPrivateKey(text));
  } catch {
    refuse('provided key PEM block contained no data or failed to parse');
  }
  return ({ publicKey }) => {
    if (!publicDer(publicKey).equals(own)) refuse("provided private key does not match certificate's public key");
  };
}

/** Revokes the certificate of a lease. */
export async function revokeLeased(internal: Readonly<Record<string, unknown>>, storage: Storage, nowMs: number) {
  const serial = String(internal.serial_number);
  if (await findCertificate(storage, serial)) await revokeKept(storage, nowMs, serial);
}

const which = {
  serial_number: string().optional().describe('The serial number of a stored certificate.'),
  certificate: string().optional().describe('A certificate in PEM that an issuer of this mount has signed.'),
};
const revokedOutput = z
  .object({ revocation_time: z.int(), revocation_time_rfc3339: z.string(), state: z.string() })
  .nullable();

/** Revoke certificates and issuers; list revoked ones. */
export const revokePaths = [
  path('revoke', {
    summary: 'Revokes certificates.',
    write: {
      summary: 'Revoke a certificate by serial number or PEM.',
      operationId: 'revoke',
      input: z.object(which),
      output: revokedOutput,
      run: (call) => revoke(call, call.input, () => {}),
    },
  }),
  path('revoke-with-key', {
    summary: 'Revokes certificates with their private key.',
    write: {
      summary: 'Revoke a certificate with its private key as proof.',
      operationId: 'revoke-with-key',
      input: z.object({
        ...which,
        private_key: secretString().optional().describe('The private key of the certificate, in PEM.'),
      }),
      output: revokedOutput,
      run: (call) => revoke(call, call.input, requireKey(call.input.private_key ?? '')),
    },
  }),
  path('issuer/:ref/revoke', {
    summary: 'Revokes an issuer.',
    write: {
      summary:
        'Revoke an issuer. It can no longer issue certificates, and the CRL of the issuer that signed it lists it.',
      operationId: 'revoke-issuer',
      stepUp: true,
      output: issuerOutput,
      async run({ params, storage, nowMs, warn }) {
        let id = '';
        const ca = await changeCa(storage, (before, tx) => {
          const issuer = requireIssuer(before, params.ref);
          id = issuer.issuer_id;
          if (issuer.revokedAtMs !== undefined) return before;
          return { ...before, issuers: { ...before.issuers, [id]: revokedIssuer(tx, issuer, nowMs) } };
        });
        const issuer = ca.issuers[id]!;
        const read = certificateOf(issuer);
        const isRoot = isSelfSigned(read);
        const above = Object.values(ca.issuers).find(
          (one) => one.issuer_id !== id && isSignedBy(read, certificateOf(one)),
        );
        const stored = await findCertificate(storage, read.serial);
        if (!isRoot && stored?.der === issuer.certificate) await revokeKept(storage, nowMs, read.serial);
        await makeFirstLists(storage, nowMs);
        if (isRoot) {
          warn(
            "This issuer is a self-signed (potentially root) certificate. This means it may not be considered revoked if there is not an external, cross-signed variant of this certificate. This issuer's serial number will not appear on its own CRL.",
          );
        }
        if (!above) {
          warn(
            "This issuer lacks another parent issuer within the mount. This means it will not appear on any other CRLs and may not be considered revoked by clients. Consider adding this issuer to its issuer's CRL as well if it is not self-signed.",
          );
        }
        if (ca.default_issuer === id) {
          warn(
            'This issuer is currently configured as the default issuer for this mount; operations such as certificate issuance may not work until a new default issuer is selected.',
          );
        }
        return data(showIssuer(ca, issuer));
      },
    },
  }),
  path('certs/revoked', {
    summary: 'The revoked certificates.',
    list: {
      summary: 'List the serial numbers of the revoked certificates.',
      operationId: 'list-revoked-certs',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await listRevokedSerials(storage, pageOf(input))),
    },
  }),
];
