import { z } from 'zod';
import { int, objectList } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { type Ca, findCa } from './ca';
import { readCertificate } from './certificate';
import type { Revoked } from './crl';
import { listRevocation } from './crl-build';
import { pemBlocks } from './pem';
import { noteRevoked } from './revocations';
import { authorityAbove } from './signing';
import { changeCertificate, keepCertificate, type StoredCertificate } from './stored-certificate';

/** An imported certificate of one of the issuers, with its revocation time if revoked. */
interface Brought extends StoredCertificate {
  readonly serial: string;
}

const secondsField = int().optional();
const mostCertificates = 1000;

function broughtIn(ca: Ca, item: Readonly<Record<string, unknown>>, at: number, nowMs: number): Brought {
  const problem = (text: string) => refuse(`certificates: item ${at} ${text}`);
  const [block, ...more] = pemBlocks(typeof item.certificate === 'string' ? item.certificate : '');
  if (!block || more.length > 0) problem('must have one certificate in PEM');
  const read = readCertificate(block!.der, `certificates: item ${at}`);
  const der = read.der.toString('base64');
  if (Object.values(ca.issuers).some(({ certificate }) => certificate === der)) problem('is an issuer of this mount');
  const authority = authorityAbove(ca, read);
  if (authority === '') problem('was not signed by an issuer of this mount');
  const { data: seconds = 0, success } = secondsField.safeParse(item.revocation_time ?? undefined);
  if (!success || seconds < 0) problem('has a revocation_time that is not a time in seconds');
  if (seconds * 1000 > nowMs) problem('has a revocation_time in the future');
  return {
    serial: read.serial,
    der,
    authority,
    notAfterMs: read.notAfterMs,
    ...(seconds > 0 && { revokedAtMs: seconds * 1000 }),
  };
}

/** Stores a certificate, or the revocation of a stored certificate. Returns whether anything has changed. */
async function keep(storage: Storage, { serial, ...certificate }: Brought, at: number): Promise<boolean> {
  let isNew = false;
  await changeCertificate(storage, serial, (found, tx) => {
    if (found && found.der !== certificate.der) {
      refuse(`certificates: item ${at} has the serial number of another certificate`);
    }
    isNew = !found || (found.revokedAtMs === undefined && certificate.revokedAtMs !== undefined);
    if (!isNew) return found!;
    if (!found) keepCertificate(tx, serial, certificate);
    const { revokedAtMs, authority } = certificate;
    if (revokedAtMs !== undefined) noteRevoked(tx, authority, { serial, seconds: Math.floor(revokedAtMs / 1000) });
    return certificate;
  });
  return isNew;
}

/** Imports certificates that issuers of this mount signed elsewhere. */
export const importCertificatesPath = path('certs/import', {
  summary: 'Imports certificates that issuers of this mount signed elsewhere.',
  write: {
    summary: 'Store certificates, also revoked ones, that issuers of this mount signed elsewhere.',
    operationId: 'import-certificates',
    stepUp: true,
    largeBody: true,
    input: z.object({
      certificates: objectList()
        .optional()
        .describe('certificate: PEM; revocation_time: seconds since 1970 if it was revoked. At most 1,000.'),
    }),
    output: z.object({ imported: z.int(), existing: z.int() }),
    async run({ input, storage, nowMs }) {
      const { certificates = [] } = input;
      if (certificates.length === 0) refuse('certificates must have an item');
      if (certificates.length > mostCertificates) refuse(`certificates: more than ${mostCertificates} items`);
      const ca = await findCa(storage);
      const imports = certificates.map((item, at) => broughtIn(ca, item, at, nowMs));
      let imported = 0;
      const revoked = new Map<string, Revoked>();
      for (const [at, one] of imports.entries()) {
        if (!(await keep(storage, one, at))) continue;
        imported += 1;
        const { authority, serial, revokedAtMs } = one;
        if (revokedAtMs !== undefined) revoked.set(authority, { serial, seconds: Math.floor(revokedAtMs / 1000) });
      }
      // Only the last certificate of each CA is passed on, because a CRL that includes it includes the others.
      for (const [authority, last] of revoked) await listRevocation(storage, nowMs, authority, last);
      return data({ imported, existing: imports.length - imported });
    },
  },
});
