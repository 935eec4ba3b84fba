import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { secretString, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import type { PemBlock } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { asRevokedBefore, type Ca, changeCa, checkedName, newIssuer, newKey, withIssuer, withKey } from './ca';
import { type ReadCertificate, readCertificate } from './certificate';
import { makeFirstLists } from './crl-build';
import { kindOfKey } from './key-pair';
import { pemBlocks } from './pem';
import { noUrlsWarning } from './root';
import { authorityAbove } from './signing';
import { findCertificate, keepCertificate } from './stored-certificate';
import { mountHasUrls } from './urls';

const bundle = secretString().optional().describe('PEM bundle of certificates and private keys.');
const BundleInput = z.object({
  pem_bundle: bundle,
  certificate: string().optional().describe('PEM bundle of certificates.'),
});

const ids = z.array(z.string()).nullable();
const importOutput = z.object({
  imported_issuers: ids,
  imported_keys: ids,
  existing_issuers: ids,
  existing_keys: ids,
  mapping: z.record(z.string(), z.string()),
});

const mostBlocks = 200;

function blocksOf(text: string): readonly PemBlock[] {
  if (text.length < 75) {
    refuse(
      'provided data for import was too short; perhaps a path was passed to the API rather than the contents of a PEM file',
    );
  }
  const blocks = pemBlocks(text);
  if (blocks.length === 0) refuse('error when parsing block 1: invalid PEM data');
  if (blocks.length > mostBlocks) refuse(`more than ${mostBlocks} blocks of PEM`);
  return blocks;
}

function keyIn(block: PemBlock, at: number): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(block.text);
  } catch {
    return refuse(`Error parsing key ${at}: it is not a private key in PKCS#1, SEC1 or PKCS#8 that is not encrypted`);
  }
  const { type, bits } = kindOfKey(key);
  if (type === 'rsa' && bits < 2048)
    refuse(`Error parsing key ${at}: RSA keys < 2048 bits are unsafe and not supported`);
  return key;
}

function authorityIn(block: PemBlock, at: number): ReadCertificate {
  const read = readCertificate(block.der, `Error parsing issuer ${at}: it`);
  if (!read.isCa) refuse(`Error parsing issuer ${at}: refusing to import a certificate that is not of a CA`);
  return read;
}

const certificateLabels = ['CERTIFICATE', 'X509 CERTIFICATE'];
const passedOver = ['CRL', 'X509 CRL', 'EC PARAMS', 'EC PARAMETERS'];

const importing = (keysAllowed: boolean) =>
  operation<Readonly<Record<never, string>>, typeof BundleInput>({
    summary: 'Import CA certificates, and private keys if the path accepts them.',
    stepUp: true,
    input: BundleInput,
    output: importOutput,
    async run({ input, storage, nowMs, warn }) {
      const { pem_bundle = '', certificate = '' } = input;
      if (pem_bundle === '' && certificate === '') refuse("'pem_bundle' and 'certificate' parameters were empty");
      if (pem_bundle !== '' && certificate !== '') {
        refuse("'pem_bundle' and 'certificate' parameters were both provided");
      }
      const blocks = blocksOf(pem_bundle || certificate).filter(({ label }) => !passedOver.includes(label));
      const certificates = blocks.filter(({ label }) => certificateLabels.includes(label)).map(authorityIn);
      const keyBlocks = blocks.filter(({ label }) => !certificateLabels.includes(label));
      if (keyBlocks.length > 0 && (!keysAllowed || certificate !== '')) {
        refuse('private keys found in the PEM bundle but not allowed by the path; use /issuers/import/bundle');
      }
      const newKeys = keyBlocks.map(keyIn).map((key) => newKey(key, ''));
      let found = {
        keys: [] as string[],
        issuers: [] as string[],
        oldKeys: [] as string[],
        oldIssuers: [] as string[],
      };
      const after = await changeCa(storage, async (before, tx) => {
        found = { keys: [], issuers: [], oldKeys: [], oldIssuers: [] };
        let ca = before;
        for (const key of newKeys) {
          const existing = Object.values(ca.keys).find(({ publicKey }) => publicKey === key.info.publicKey);
          if (existing) found.oldKeys.push(existing.key_id);
          else {
            ca = withKey(ca, tx, key);
            found.keys.push(key.info.key_id);
          }
        }
        for (const read of certificates) {
          const text = read.der.toString('base64');
          const existing = Object.values(ca.issuers).find((issuer) => issuer.certificate === text);
          if (existing) found.oldIssuers.push(existing.issuer_id);
          else {
            const issuer = await asRevokedBefore(tx, newIssuer(ca, read.der, ''));
            found.issuers.push(issuer.issuer_id);
            ca = withIssuer(ca, issuer);
          }
        }
        for (const read of certificates) {
          // Don't overwrite a stored certificate: it may be revoked.
          if (await findCertificate(tx, read.serial)) continue;
          keepCertificate(tx, read.serial, {
            der: read.der.toString('base64'),
            authority: authorityAbove(ca, read),
            notAfterMs: read.notAfterMs,
          });
        }
        return withBestDefault(before, ca, found.issuers);
      });
      for (const text of defaultWarnings(after, found.issuers, found.oldIssuers)) warn(text);
      await makeFirstLists(storage, nowMs);
      if (!(await mountHasUrls(storage))) warn(noUrlsWarning);
      const listed = (list: readonly string[]) => (list.length === 0 ? null : list);
      const all = [...found.issuers, ...found.oldIssuers];
      return data({
        imported_issuers: listed(found.issuers),
        imported_keys: listed(found.keys),
        existing_issuers: listed(found.oldIssuers),
        existing_keys: listed(found.oldKeys),
        mapping: Object.fromEntries(all.map((id) => [id, after.issuers[id]!.key_id])),
      });
    },
  });

/** Warnings about the default issuer after an import. */
function defaultWarnings(ca: Ca, created: readonly string[], existing: readonly string[]): string[] {
  const id = ca.default_issuer;
  const able = created.filter((one) => ca.issuers[one]!.key_id !== '');
  const isMade = created.includes(id);
  return [
    ...(ca.default_follows_latest_issuer && able.length > 1
      ? [
          'Default issuer left unchanged: could not select new issuer automatically as multiple imported issuers had key material in Vault.',
        ]
      : []),
    ...((isMade || existing.includes(id)) && ca.issuers[id]?.key_id === ''
      ? [
          'The default issuer has no key associated with it. Some operations like issuing certificates and signing CRLs will be unavailable with the requested default issuer until a key is imported or the default issuer is changed.',
        ]
      : []),
    ...(able.length > 1 && isMade
      ? [
          'The imported bundle contained multiple certs matching keys, the default issuer that was selected should be verified and manually changed if incorrect.',
        ]
      : []),
  ];
}

/** Prefers an issuer with a key as the first default. */
function withBestDefault(before: Ca, ca: Ca, imported: readonly string[]): Ca {
  const withKeys = imported.filter((id) => ca.issuers[id]!.key_id !== '');
  if (before.default_issuer !== '') {
    const follows = before.default_follows_latest_issuer && withKeys.length === 1;
    return { ...ca, default_issuer: follows ? withKeys[0]! : before.default_issuer };
  }
  return { ...ca, default_issuer: withKeys[0] ?? ca.default_issuer };
}

/** Imports issuers and keys. */
export const importPaths = [
  path('issuers/import/cert', {
    summary: 'Imports CA certificates.',
    write: { ...importing(false), operationId: 'issuers-import-cert' },
  }),
  path('issuers/import/bundle', {
    summary: 'Imports CA certificates and private keys.',
    write: { ...importing(true), operationId: 'issuers-import-bundle' },
  }),
  path('config/ca', {
    summary: 'Imports CA certificates and private keys.',
    write: { ...importing(true), operationId: 'configure-ca' },
  }),
  path('intermediate/set-signed', {
    summary: 'Imports certificates signed by another CA.',
    write: {
      ...importing(false),
      summary: 'Import a certificate signed by another CA, with its chain.',
      operationId: 'set-signed-intermediate',
    },
  }),
  path('keys/import', {
    summary: 'Imports a private key.',
    write: {
      summary: 'Import a private key. Issuers whose key was missing can then sign with it.',
      operationId: 'import-key',
      stepUp: true,
      input: z.object({ pem_bundle: bundle, key_name: string().optional().describe('Name of the issuer.') }),
      output: z.object({ key_id: z.string(), key_name: z.string(), key_type: z.string() }),
      async run({ input, storage, nowMs, warn }) {
        const blocks = blocksOf(input.pem_bundle ?? '').filter(({ label }) => !passedOver.includes(label));
        if (blocks.length !== 1) refuse('only a single key can be present within the pem_bundle for importing');
        const imported = newKey(keyIn(blocks[0]!, 0), checkedName(input.key_name ?? '', 'key'));
        let id = imported.info.key_id;
        const ca = await changeCa(storage, (before, tx) => {
          const existing = Object.values(before.keys).find(({ publicKey }) => publicKey === imported.info.publicKey);
          id = existing?.key_id ?? imported.info.key_id;
          return existing ? before : withKey(before, tx, imported);
        });
        if (id !== imported.info.key_id) warn('Key already imported, use key/ endpoint to update name.');
        await makeFirstLists(storage, nowMs);
        const { key_id, key_name, key_type } = ca.keys[id]!;
        return data({ key_id, key_name, key_type });
      },
    },
  }),
];
