import { z } from 'zod';
import { publicDer } from '../../sdk/asn1';
import type { Call } from '../../sdk/call';
import { operation, path } from '../../sdk/path';
import { certificatePem } from '../../sdk/pem';
import { data, empty } from '../../sdk/reply';
import { algorithmFor } from '../../sdk/signature-algorithm';
import { alternativeNames } from './alternative-names';
import { type Ca, changeCa, findCa, type Issuer, issuerRef, newIssuer, withIssuer, withKey } from './ca';
import { keyIdOf, makeCertificate, readCertificate, wholeSeconds } from './certificate';
import { makeFirstLists } from './crl-build';
import { authorityKeyId, basicConstraints, permittedDomains, subjectKeyId, urlExtensions } from './extension';
import { authorityFields, authorityKey, freeIssuerName, generationFields, issuerNameField } from './generation';
import { withKey as withShownKey } from './issue';
import { formatOf } from './issue-fields';
import { shownKeyOf } from './key-pair';
import { requestedNames } from './requested-names';
import { newSerial, serialText } from './serial';
import { authorityOf } from './signing';
import { keepCertificate } from './stored-certificate';
import { hasUrls } from './url-set';
import { urlsForRoot } from './urls';
import { keyUsageExtension } from './usages';
import { validityFor } from './validity';

const RootInput = z.object({ ...generationFields, ...issuerNameField, ...authorityFields });

const rootOutput = z.object({
  certificate: z.string(),
  issuing_ca: z.string(),
  serial_number: z.string(),
  expiration: z.int(),
  issuer_id: z.string(),
  issuer_name: z.string(),
  key_id: z.string(),
  key_name: z.string(),
  private_key: z.string().optional(),
  private_key_type: z.string().optional(),
});

/** Key usages of CA certificates. */
export const authorityUsages = ['CertSign', 'CRLSign'];

/** Warning for a mount without configured URLs. */
export const noUrlsWarning =
  "This mount hasn't configured any authority information access (AIA) fields; this may make it harder for systems to find missing certificates in the chain or to validate revocation status of certificates. Consider updating /config/urls or the newly generated issuer with this information.";

/** Warning for a CA without a subject. */
export const noSubjectWarning =
  'This issuer certificate was generated without a Subject; this makes it likely that issuing leaf certs with this certificate will cause TLS validation libraries to reject this certificate.';

type RootCall = Call<{ readonly exported: string }, z.output<typeof RootInput>>;

async function generateRoot(call: RootCall, usualName: string) {
  const { input, params, storage, nowMs, mount } = call;
  // The name must still be free when the change is applied.
  const nameIn = (ca: Ca) =>
    freeIssuerName(ca, input.issuer_name) || (usualName !== '' && !issuerRef(ca, usualName) ? usualName : '');
  nameIn(await findCa(storage));
  const format = formatOf(input);
  const authority = await authorityKey(storage, params.exported, input);
  const { role, key } = authority;
  const warn = (text: string) => call.warn(text);
  const { subject, names } = requestedNames(role, input, undefined, warn);
  const validity = validityFor(role, input, { nowMs, mount, warn });
  const publicKey = publicDer(key);
  const pathLength = input.max_path_length ?? -1;
  const keyId = keyIdOf(publicKey);
  const algorithm = algorithmFor(key, role.signature_bits, role.use_pss);
  const serial = serialText(newSerial());
  const urls = await urlsForRoot(storage);
  const extensions = [
    ...keyUsageExtension(authorityUsages),
    basicConstraints(true, pathLength < 0 ? undefined : pathLength),
    subjectKeyId(keyId),
    ...authorityKeyId(keyId),
    ...urlExtensions(urls),
    ...alternativeNames(names, subject.length === 0),
    ...permittedDomains(input.permitted_dns_domains ?? []),
  ];
  const content = { serial, subject, issuer: subject, publicKey, ...validity, extensions };
  const der = await makeCertificate(content, { key, algorithm });
  const certificate = readCertificate(der);
  let issuer!: Issuer;
  const after = await changeCa(storage, (before, tx) => {
    const withItsKey = authority.createdKey ? withKey(before, tx, authority.createdKey) : before;
    issuer = newIssuer(withItsKey, der, nameIn(withItsKey), algorithm.name);
    keepCertificate(tx, serial, {
      der: der.toString('base64'),
      authority: authorityOf(certificate),
      notAfterMs: wholeSeconds(validity.notAfterMs),
    });
    return withIssuer(withItsKey, issuer);
  });
  await makeFirstLists(storage, nowMs);
  if (subject.length === 0) warn(noSubjectWarning);
  if (!hasUrls(urls)) warn(noUrlsWarning);
  if (pathLength === 0) {
    warn(
      'Max path length of the generated certificate is zero. This certificate cannot be used to issue intermediate CA certificates.',
    );
  }
  const text = format === 'der' ? der.toString('base64') : certificatePem(der);
  const shown = { certificate: text, issuing_ca: text };
  return data({
    ...(authority.isShown ? withShownKey(shown, shownKeyOf(key), format, input) : shown),
    serial_number: serial,
    expiration: Math.floor(validity.notAfterMs / 1000),
    issuer_id: issuer.issuer_id,
    issuer_name: issuer.issuer_name,
    key_id: issuer.key_id,
    key_name: after.keys[issuer.key_id]?.key_name ?? '',
  });
}

const generating = operation<{ readonly exported: string }, typeof RootInput>({
  summary: 'Create a root CA: a key and a self-signed certificate.',
  stepUp: true,
  input: RootInput,
  output: rootOutput,
  run: (call) => generateRoot(call, ''),
});

/** Generate, rotate and delete roots, and sign with them. */
export const rootPaths = [
  path('root/generate/:exported', {
    summary: 'Creates a root CA.',
    write: { ...generating, operationId: 'generate-root' },
  }),
  path('issuers/generate/root/:exported', {
    summary: 'Creates a root CA.',
    write: { ...generating, operationId: 'issuers-generate-root' },
  }),
  path('root/rotate/:exported', {
    summary: 'Creates a successor to the current root CA.',
    write: {
      ...generating,
      summary: 'Create a root CA named next, if that name is free.',
      operationId: 'rotate-root',
      run: (call) => generateRoot(call, 'next'),
    },
  }),
  path('root', {
    summary: 'All issuers and keys of the mount.',
    sudo: true,
    delete: {
      summary: 'Permanently delete all issuers and keys.',
      operationId: 'delete-root',
      stepUp: true,
      async run({ storage, warn }) {
        let count = 0;
        await changeCa(storage, (ca, tx) => {
          count = Object.keys(ca.issuers).length;
          for (const id of Object.keys(ca.keys)) tx.delete(`key/${id}`);
          return { ...ca, issuers: {}, keys: {}, default_issuer: '', default_key: '' };
        });
        if (count === 0) return empty;
        warn(
          `DELETE /root deletes all keys and issuers; prefer the new DELETE /key/:key_ref and DELETE /issuer/:issuer_ref for finer granularity, unless removal of all keys and issuers is desired.`,
        );
        return empty;
      },
    },
  }),
];
