import { createHash } from 'node:crypto';
import { zipOf } from '@keystead/testing';
import { createMessage, generateKey, readPrivateKey, sign } from 'openpgp';
import { putUrl } from './configurations';
import { type Client, resource, type Spoken } from './start-workspaces';

/** A key that signs providers. */
export interface SigningKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Makes a key. */
export const signingKey = (name: string): Promise<SigningKey> =>
  generateKey({ userIDs: [{ name }], format: 'armored' });

/** A detached signature of a string, in the format that the tools read. */
export async function signatureOf(text: string, { privateKey }: SigningKey): Promise<Buffer> {
  const message = await createMessage({ binary: new Uint8Array(Buffer.from(text)) });
  const signingKeys = await readPrivateKey({ armoredKey: privateKey });
  return Buffer.from(await sign({ message, signingKeys, detached: true, format: 'binary' }));
}

/** SHA-256 in hexadecimal digits. */
export const sumOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A list of checksums, as releases have one. */
export const sumsOf = (files: readonly (readonly [name: string, bytes: Buffer])[]): string =>
  files.map(([name, bytes]) => `${sumOf(bytes)}  ${name}\n`).join('');

/** The archive of a provider that reports its version. */
export const providerZip = (name: string, version: string): Buffer =>
  zipOf([[`terraform-provider-${name}_v${version}`, `#!/bin/sh\necho ${version}\n`]]);

/** Adds a key to an organization; returns its id. */
export async function addKey(client: Client, namespace: string, { publicKey }: SigningKey): Promise<string> {
  const body = resource('gpg-keys', { namespace, 'ascii-armor': publicKey });
  const { body: made } = await client.post('/api/registry/private/v2/gpg-keys', body).expect(201);
  return made.data.attributes['key-id'];
}

/** Publishes a signed version of an existing provider for some platforms. */
export async function publishProvider(
  workspaces: Pick<Spoken, 'server' | 'admin'>,
  organization: string,
  name: string,
  version: string,
  key: SigningKey & { readonly keyId: string },
  systems: readonly (readonly [os: string, arch: string])[] = [['linux', 'amd64']],
  { registry, namespace } = { registry: 'private', namespace: organization },
): Promise<{ providerId: string; versionId: string; platformId: string }> {
  const { admin } = workspaces;
  const under = `organizations/${organization}/registry-providers/${registry}/${namespace}/${name}/versions`;
  const body = resource('registry-provider-versions', { version, 'key-id': key.keyId, protocols: ['5.0'] });
  const { id: versionId, links, relationships } = (await admin.post(under, body).expect(201)).body.data;
  let platformId = '';
  const archive = providerZip(name, version);
  const fileOf = (os: string, arch: string) => `terraform-provider-${name}_${version}_${os}_${arch}.zip`;
  const sums = sumsOf(systems.map(([os, arch]) => [fileOf(os, arch), archive]));
  await putUrl(workspaces, links['shasums-upload'], Buffer.from(sums)).expect(200);
  await putUrl(workspaces, links['shasums-sig-upload'], await signatureOf(sums, key)).expect(200);
  for (const [os, arch] of systems) {
    const platform = { os, arch, shasum: sumOf(archive), filename: fileOf(os, arch) };
    const made = await admin
      .post(`${under}/${version}/platforms`, resource('registry-provider-platforms', platform))
      .expect(201);
    await putUrl(workspaces, made.body.data.links['provider-binary-upload'], archive).expect(200);
    platformId = made.body.data.id;
  }
  return { providerId: relationships['registry-provider'].data.id, versionId, platformId };
}
