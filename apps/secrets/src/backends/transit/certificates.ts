import { X509Certificate } from 'node:crypto';
import { Attributes, CertificationRequest, type CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Name } from '@peculiar/asn1-x509';
import { z } from 'zod';
import { makeRequest } from '../../sdk/certificate-request';
import { int, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { certificatePem, pemBlocks, pemOf } from '../../sdk/pem';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { algorithmFor } from '../../sdk/signature-algorithm';
import { changeKey, requireKey, type TransitKey, usable } from './key';
import { signs } from './key-type';
import { materialOf } from './material';

const version = int().optional().describe('Version of the key. Default: the newest.');

function requirePair(key: TransitKey): TransitKey {
  if (!signs(usable(key).type)) refuse(`key type '${key.type}' does not support signing`);
  return key.derived ? refuse('operation not supported for keys with derivation enabled') : key;
}

/** Checks that a key still accepts a version; returns its number. */
function versionOf(key: TransitKey, requestedVersion: number | undefined): number {
  const number = requestedVersion ?? key.latest_version;
  return number >= key.min_decryption_version && key.versions[number] ? number : refuse('no such key version');
}

const absent = (name: string) => `key with provided name '${name}' not found`;

/** Creates a certificate signing request (CSR). */
export const csrPath = path('keys/:name/csr', {
  summary: 'The CSR of a key.',
  write: {
    summary: 'Create or sign a certificate signing request (CSR) with a key.',
    operationId: 'get-key-csr',
    input: z.object({
      version,
      csr: string().optional().describe('CSR (PEM) whose subject and attributes are copied.'),
    }),
    output: z.object({ name: z.string(), type: z.string(), csr: z.string() }),
    async run({ input, params, storage }) {
      const key = requirePair(await requireKey(storage, params.name, absent(params.name)));
      const template = readTemplate(input.csr ?? '');
      const { privateKey } = materialOf(key, versionOf(key, input.version));
      if (!privateKey) refuse('could not create the csr: private key not imported for key version selected');
      const der = await makeRequest(template, { key: privateKey, algorithm: algorithmFor(privateKey) });
      return data({ name: params.name, type: key.type, csr: `${pemOf(der, 'CERTIFICATE REQUEST')}\n` });
    },
  },
});

type Template = Pick<CertificationRequestInfo, 'subject' | 'attributes'>;

function readTemplate(text: string): Template {
  if (text === '') return { subject: new Name(), attributes: new Attributes() };
  const [block] = pemBlocks(text);
  if (!block) refuse('could not decode PEM CSR');
  try {
    return AsnConvert.parse(block.der, CertificationRequest).certificationRequestInfo;
  } catch {
    return refuse('csr must be a PEM block of a request for a certificate');
  }
}

/** Stores a certificate chain with a key. */
export const certificatePath = path('keys/:name/set-certificate', {
  summary: 'The certificate chain of a key.',
  write: {
    summary: 'Store a certificate chain for a version of a key. Replaces an earlier chain.',
    operationId: 'set-key-certificate',
    input: z.object({
      version,
      certificate_chain: string()
        .optional()
        .describe('PEM bundle of the certificate chain, beginning with the certificate of the key.'),
    }),
    output: z.object({ name: z.string(), type: z.string(), certificate_chain: z.string() }),
    async run({ input, params, storage }) {
      const { name } = params;
      const text = input.certificate_chain ?? '';
      requirePair(await requireKey(storage, name, absent(name)));
      const chain = readChain(text);
      const certificates = chain.map(({ raw }) => raw.toString('base64'));
      const { type } = await changeKey(storage, name, (found) => {
        const key = requirePair(found ?? refuse(absent(name)));
        const number = versionOf(key, input.version);
        checkChain(chain, key, number);
        const changed = { ...key.versions[number]!, certificates };
        return { ...key, versions: { ...key.versions, [number]: changed } };
      });
      return data({ name, type, certificate_chain: text });
    },
  },
});

function readChain(text: string): X509Certificate[] {
  const blocks = pemBlocks(text).filter(({ label }) => /^(X509 )?CERTIFICATE$/.test(label));
  if (blocks.length === 0) refuse('provided certificate chain did not contain any valid PEM encoded certificate');
  try {
    return blocks.map(({ der }) => new X509Certificate(der));
  } catch {
    return refuse('could not parse a certificate in the certificate chain');
  }
}

function checkChain(chain: readonly X509Certificate[], key: TransitKey, number: number): void {
  const bad = (text: string) => refuse(`failed to persist certificate chain: ${text}`);
  const [leaf, ...others] = chain as [X509Certificate, ...X509Certificate[]];
  if (leaf.ca) bad('certificate in the first element is not a valid leaf certificate');
  if (others.at(-1)?.ca === false) bad('certificate in the last element is not a valid CA certificate');
  if (others.some(({ ca }) => !ca)) {
    bad('could not validate if there is only one leaf certificate in the provided chain');
  }
  const { publicKey } = materialOf(key, number);
  if (leaf.publicKey.asymmetricKeyType !== publicKey.asymmetricKeyType) {
    bad(`provided leaf certificate public key algorithm does not match the transit key type '${key.type}'`);
  }
  if (!leaf.publicKey.equals(publicKey)) bad('leaf certificate public key does not match the selected key version');
}

/** The certificates of a version as PEM; empty if it has none. */
export const chainText = ({ versions }: TransitKey, number: number): string =>
  (versions[number]?.certificates ?? []).map((der) => certificatePem(Buffer.from(der, 'base64'))).join('\n');
