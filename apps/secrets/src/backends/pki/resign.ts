import { AsnConvert } from '@peculiar/asn1-schema';
import { CertificateList, type Extension } from '@peculiar/asn1-x509';
import { z } from 'zod';
import { arrayBuffer } from '../../sdk/asn1';
import { announced, int, objectList, string, stringList } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { pemOf } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { certificateOf, findCa, type Issuer, issuerRef, noIssuer } from './ca';
import type { ReadCertificate } from './certificate';
import { makeCrl, type Revoked } from './crl';
import { revocationSigner } from './crl-build';
import { extension, isOid } from './extension';
import { keptDuration, secondsOf } from './kept-duration';
import { pemBlocks } from './pem';
import { inPages } from './revocations';
import { readSerial } from './serial';
import { isSignedWith } from './signed-by';
import { authorityKeyOf, keyFor, requireUsage } from './signing';
import { requireTime } from './time';

const listFields = {
  crl_number: int().optional().describe('Number of the CRL.'),
  delta_crl_base_number: int()
    .optional()
    .describe('For a delta CRL: the number of its base CRL. -1, the default: a complete CRL.'),
  next_update: keptDuration('invalid value for next_update')
    .optional()
    .describe('How long the CRL is valid; 72h by default.'),
  format: announced(string(), { default: 'pem', enum: ['pem', 'der'] })
    .optional()
    .describe('pem, or der in base64.'),
};

interface AskedList {
  readonly crl_number?: number;
  readonly delta_crl_base_number?: number;
  readonly next_update?: string;
  readonly format?: string;
}

async function signList(
  { storage, nowMs }: { readonly storage: Storage; readonly nowMs: number },
  issuer: Issuer,
  request: AskedList,
  revoked: readonly Revoked[],
  extensions: readonly Extension[] = [],
) {
  const {
    crl_number: number = 0,
    delta_crl_base_number: base = -1,
    next_update: next = '72h',
    format = 'pem',
  } = request;
  const seconds = secondsOf(next);
  if (seconds <= 0) refuse('next_update parameter must be greater than 0');
  if (number < 0) refuse('crl_number parameter must be 0 or greater');
  if (base < -1) refuse('delta_crl_base_number parameter must be -1 or greater');
  if (format !== 'pem' && format !== 'der') refuse(`unknown format value of ${format}`);
  await keyFor(storage, issuer);
  const certificate = certificateOf(issuer);
  const parts = await makeCrl(
    {
      issuer: certificate.tbs.subject,
      keyId: authorityKeyOf(certificate),
      number,
      baseNumber: base < 0 ? undefined : base,
      thisUpdateMs: nowMs,
      nextUpdateMs: nowMs + seconds * 1000,
      revoked: inPages(revoked),
      extensions,
    },
    await revocationSigner(storage, issuer),
  );
  const der = Buffer.concat(parts);
  return data({ crl: format === 'der' ? der.toString('base64') : pemOf(der, 'X509 CRL') });
}

/** The revocations in a CRL of this CA. Throws `invalid` for a CRL of another CA. */
function revokedIn(text: string, at: number, authority: ReadCertificate): Revoked[] {
  const [block] = pemBlocks(text);
  if (!block) refuse(`crls: no PEM in item ${at}`);
  const list = parsed(block.der, at);
  const { tbsCertList: tbs } = list;
  const content = Buffer.from(list.tbsCertListRaw ?? AsnConvert.serialize(tbs));
  const { signatureAlgorithm: algorithm, signature } = list;
  if (!isSignedWith({ content, algorithm, signature: Buffer.from(signature) }, authority.publicKey)) {
    refuse(`CRL index: ${at} was not signed by requested issuer`);
  }
  return (tbs.revokedCertificates ?? []).map(({ userCertificate, revocationDate }) => ({
    serial:
      readSerial(Buffer.from(userCertificate).toString('hex')) ??
      refuse(`crls: item ${at} has a serial number of more than 40 bytes`),
    seconds: Math.floor(revocationDate.getTime().getTime() / 1000),
  }));
}

function parsed(der: Buffer, at: number): CertificateList {
  try {
    return AsnConvert.parse(der, CertificateList);
  } catch {
    return refuse(`crls: item ${at} is not a CRL`);
  }
}

function revokedItem(item: Readonly<Record<string, unknown>>, at: number): Revoked {
  const serial = readSerial(String(item.serial_number ?? ''));
  if (serial === undefined) refuse('revoked_certs: serial_number must be pairs of hexadecimal digits');
  const { revocation_time: time } = item;
  if (time === undefined) refuse(`failed parsing revocation_time from entry ${at}: missing 'revocation_time' field`);
  return { serial, seconds: Math.floor(requireTime(String(time)) / 1000) };
}

function extensionItem({ id, critical, value }: Readonly<Record<string, unknown>>): Extension {
  if (!isOid(String(id))) refuse('extensions: id must be an object identifier');
  const bytes = Buffer.from(String(value ?? ''), 'base64');
  return extension(String(id), arrayBuffer(bytes), critical === true || critical === 'true');
}

/** Finds an issuer that may sign CRLs. Throws `invalid`. */
async function signerOfLists(storage: Storage, ref: string): Promise<Issuer> {
  const issuer =
    issuerRef(await findCa(storage), ref) ?? refuse(`failed to resolve issuer issuer_ref: ${noIssuer(ref)}`);
  requireUsage(issuer, 'crl-signing');
  return issuer;
}

const output = z.object({ crl: z.string() });

/** Signs CRLs with content from the caller. These CRLs are not stored. */
export const resignPaths = [
  path('issuer/:ref/resign-crls', {
    summary: 'Combines CRLs of an issuer.',
    write: {
      summary: 'Combine several CRLs of an issuer into one CRL and sign it.',
      operationId: 'issuer-resign-crls',
      input: z.object({ ...listFields, crls: stringList().optional().describe('The CRLs, in PEM.') }),
      output,
      async run(call) {
        const issuer = await signerOfLists(call.storage, call.params.ref);
        const lists = call.input.crls ?? [];
        const found = new Map<string, Revoked>();
        for (const [at, text] of lists.entries()) {
          for (const one of revokedIn(text, at, certificateOf(issuer))) {
            const earlier = found.get(one.serial);
            if (!earlier || one.seconds < earlier.seconds) found.set(one.serial, one);
          }
        }
        return signList(call, issuer, call.input, [...found.values()]);
      },
    },
  }),
  path('issuer/:ref/sign-revocation-list', {
    summary: 'Signs a CRL with given revoked certificates.',
    sudo: true,
    write: {
      summary: 'Sign a CRL that contains the given certificates.',
      operationId: 'issuer-sign-revocation-list',
      input: z.object({
        ...listFields,
        revoked_certs: objectList().optional().describe('Objects with serial_number and revocation_time.'),
        extensions: objectList().optional().describe('Objects with id, critical, and value (DER in base64).'),
      }),
      output,
      async run(call) {
        const issuer = await signerOfLists(call.storage, call.params.ref);
        const { revoked_certs: certificates = [], extensions = [] } = call.input;
        const revoked = certificates.map(revokedItem);
        return signList(call, issuer, call.input, revoked, extensions.map(extensionItem));
      },
    },
  }),
];
