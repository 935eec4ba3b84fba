import { operation } from '../../../sdk/path';
import type { Storage } from '../../../sdk/storage';
import { certificateOf, findCa } from '../ca';
import { readCertificate } from '../certificate';
import { serialText } from '../serial';
import { authorityKeyOf, issuerOf } from '../signing';
import { findCertificate } from '../stored-certificate';
import type { AcmeParams } from './directory';
import { fail, problems } from './problem';
import { type AcmeCall, inDirectory } from './signed-request';

/** The serial number in a certificate id (RFC 9773, 4.1) of a CA of this mount. Throws `malformed`. */
export async function readCertificateId(storage: Storage, text: string): Promise<string> {
  const [, authority = '', number = ''] = /^([\w-]{1,100})\.([\w-]{1,60})$/.exec(text) ?? [];
  const serial = number === '' ? '' : serialText(Buffer.from(number, 'base64url'));
  const keyId = Buffer.from(authority, 'base64url');
  const certificate = serial === '' ? undefined : await findCertificate(storage, serial);
  const above = certificate && issuerOf(await findCa(storage), certificate.authority);
  return above && authorityKeyOf(certificateOf(above)).equals(keyId)
    ? serial
    : fail('malformed', 'there is no such certificate');
}

/** When to renew a certificate (RFC 9773): at two thirds of its lifetime, or now if it is revoked. */
export const renewalInfo = operation<AcmeParams>({
  summary: 'Read when a certificate should be renewed (ARI).',
  operationId: 'read-acme-renewal-info',
  auth: 'none',
  responseFormat: 'raw',
  ...problems,
  judges: 'nothing',
  run: (call) =>
    inDirectory(call as unknown as AcmeCall, async () => {
      const { storage, params, nowMs } = call;
      const certificate = (await findCertificate(storage, await readCertificateId(storage, params.id ?? '')))!;
      const { notBeforeMs, notAfterMs } = readCertificate(Buffer.from(certificate.der, 'base64'));
      const lifeMs = notAfterMs - notBeforeMs;
      const isRevoked = certificate.revokedAtMs !== undefined;
      const startMs = isRevoked ? nowMs - 3600_000 : notAfterMs - lifeMs / 3;
      const endMs = isRevoked ? nowMs - 1800_000 : startMs + lifeMs / 12;
      const [start, end] = [startMs, endMs].map((ms) => new Date(ms).toISOString());
      return { body: { suggestedWindow: { start, end } }, headers: { 'Retry-After': '21600' } };
    }),
});
