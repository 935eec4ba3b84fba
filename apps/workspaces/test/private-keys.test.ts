import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parsePrivateKey } from 'sshpk';
import { resource, startWorkspaces } from './start-workspaces';

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  dsa: generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }),
  ecdsa: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ed25519: generateKeyPairSync('ed25519'),
};
type Kind = keyof typeof pairs;
const kinds = Object.keys(pairs) as Kind[];
const pkcs8 = (key: KeyObject): string => String(key.export({ type: 'pkcs8', format: 'pem' }));
const inFormat = (kind: Kind, format: 'openssh' | 'pkcs1' | 'pkcs8'): string =>
  parsePrivateKey(pkcs8(pairs[kind].privateKey), 'pem').toString(format);

const formats = ['openssh', 'pkcs1', 'pkcs8'] as const;
const accepted = kinds.flatMap((kind) => formats.map((format) => ({ kind, format })));

const encrypted = (type: 'pkcs1' | 'pkcs8', cipher: string): string =>
  String(pairs.rsa.privateKey.export({ type, format: 'pem', cipher, passphrase: 'a passphrase' }));

const puttyWithPassphrase = `PuTTY-User-Key-File-2: ssh-ed25519
Encryption: aes256-cbc
Comment: person
Public-Lines: 2
AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3R0
ZXN0
Private-Lines: 1
AAAAIHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0
Private-MAC: 0000000000000000000000000000000000000000
`;

const certificate = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIQIRi6zePL6mKjOipn+dNuaTAKBggqhkjOPQQDAjASMRAw
DgYDVQQKEwdBY21lIENvMB4XDTE3MTAyMDE5NDMwNloXDTE4MTAyMDE5NDMwNlow
EjEQMA4GA1UEChMHQWNtZSBDbzBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABD0d
-----END CERTIFICATE-----
`;

const refused: [what: string, value: unknown][] = [
  ['a key in PKCS #8 with a passphrase', encrypted('pkcs8', 'aes-256-cbc')],
  ['a key in PEM with a passphrase', encrypted('pkcs1', 'aes-128-cbc')],
  ['a PuTTY key with a passphrase', puttyWithPassphrase],
  ['a certificate', certificate],
  ...kinds.map((kind): [string, unknown] => [
    `the public half of a key of kind ${kind}`,
    String(pairs[kind].publicKey.export({ type: 'spki', format: 'pem' })),
  ]),
  ...kinds.map((kind): [string, unknown] => [
    `half of a key of kind ${kind}`,
    inFormat(kind, 'openssh').slice(0, inFormat(kind, 'openssh').length / 2),
  ]),
  ['a key that was changed in the middle', inFormat('rsa', 'pkcs1').replace(/\n.{64}\n/, `\n${'A'.repeat(64)}\n`)],
  ['two lines without a key', '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n'],
  ['white space', ' \n\t'],
  ['a null', null],
  ['a list', [inFormat('rsa', 'pkcs1')]],
  ['an object', { pem: inFormat('rsa', 'pkcs1') }],
  ['a megabyte', 'A'.repeat(1_000_000)],
];

describe('private keys', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const store = (name: string, value: unknown) =>
    admin.post('organizations/acme/ssh-keys', resource('ssh-keys', { name, value }));
  beforeAll(() => workspaces.organization('acme'));

  it.each(accepted)(
    'of kind $kind are accepted as $format, and have the same fingerprint',
    async ({ kind, format }) => {
      const { body } = await store(`${kind} ${format}`, inFormat(kind, format)).expect(201);
      const fingerprint = parsePrivateKey(pkcs8(pairs[kind].privateKey), 'pem').fingerprint('sha256').toString();
      expect(body.data.attributes).toMatchObject({ kind, fingerprint });
    },
  );

  it.each(refused)('that are %s are refused, and not stored or quoted', async (what, value) => {
    const answer = await store(what, value).expect(422);
    expect(answer.body.errors[0]).toMatchObject({ source: { pointer: '/data/attributes/value' } });
    if (typeof value === 'string' && value.length > 100) expect(answer.text).not.toContain(value.slice(60, 90));
    const { body } = await admin.get('organizations/acme/ssh-keys').expect(200);
    expect(body.data.map((key: { attributes: { name: string } }) => key.attributes.name)).not.toContain(what);
  });
});
