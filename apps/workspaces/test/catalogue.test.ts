import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@keystead/server';
import { createMessage, generateKey, readPrivateKey, sign } from 'openpgp';
import { refreshCatalogue } from '../src/worker';
import { readWorkerConfig } from '../src/worker/config';
import { resource, SEAL_KEY, startWorkspaces } from './start-workspaces';

describe('the catalogue of versions', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const files = new Map<string, Buffer>();
  const mirror = createServer((req, res) => {
    const found = files.get(req.url ?? '');
    res.writeHead(found ? 200 : 404).end(found);
  });
  const folder = mkdtempSync(path.join(tmpdir(), 'catalogue-'));
  let privateKey = '';
  let base = '';
  const sums = (version: string) => Buffer.from(`${'ab'.repeat(32)}  terraform_${version}_linux_amd64.zip\n`);
  const release = async (version: string) => {
    const at = `/terraform/${version}/terraform_${version}_`;
    files.set(`${at}SHA256SUMS`, sums(version));
    const message = await createMessage({ binary: new Uint8Array(sums(version)) });
    const signingKeys = await readPrivateKey({ armoredKey: privateKey });
    const signature = await sign({ message, signingKeys, detached: true, format: 'binary' });
    files.set(`${at}SHA256SUMS.sig`, Buffer.from(signature as Uint8Array));
  };
  const releaseTofu = async (version: string) => {
    const at = `/tofu/v${version}/tofu_${version}_`;
    const text = Buffer.from(`${'cd'.repeat(32)}  tofu_${version}_linux_amd64.zip\n`);
    files.set(`${at}SHA256SUMS`, text);
    const message = await createMessage({ binary: new Uint8Array(text) });
    const signingKeys = await readPrivateKey({ armoredKey: privateKey });
    const signature = await sign({ message, signingKeys, detached: true, format: 'binary' });
    files.set(`${at}SHA256SUMS.gpgsig`, Buffer.from(signature as Uint8Array));
  };
  const indexTofu = (...versions: unknown[]) => files.set('/tofu.json', Buffer.from(JSON.stringify({ versions })));
  const index = (...versions: string[]) => {
    const listed = Object.fromEntries(versions.map((one) => [one, {}]));
    files.set('/terraform/index.json', Buffer.from(JSON.stringify({ versions: listed })));
  };
  const refresh = async () => {
    const config = readWorkerConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_SEAL_KEY: SEAL_KEY,
      WORKSPACES_WORKER_TERRAFORM_RELEASES: `${base}/terraform`,
      WORKSPACES_WORKER_TOFU_RELEASES: `${base}/tofu`,
      WORKSPACES_WORKER_TOFU_INDEX: `${base}/tofu.json`,
      WORKSPACES_WORKER_RELEASE_NETWORKS: '127.0.0.1/32',
      WORKSPACES_WORKER_RELEASE_KEYS_FILE: path.join(folder, 'keys.asc'),
    });
    const { versions, problems } = await refreshCatalogue(config, createLogger({ name: 'test', level: 'silent' }));
    return { added: versions.map(({ version }) => version), problems };
  };
  const found = async (version: string) =>
    (await admin.get(`admin/infra-versions?filter[version]=${version}`).expect(200)).body.data;

  beforeAll(async () => {
    mirror.listen(0, '127.0.0.1');
    await once(mirror, 'listening');
    base = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
    const keys = await generateKey({ userIDs: [{ name: 'vendor' }], format: 'armored' });
    ({ privateKey } = keys);
    writeFileSync(path.join(folder, 'keys.asc'), keys.publicKey);
    await workspaces.organization('acme');
    indexTofu();
  });
  afterAll(() => {
    mirror.close();
    rmSync(folder, { recursive: true });
  });

  it('is refreshed by a command, once, and workspaces may choose new versions', async () => {
    const choose = (name: string, version: string) =>
      admin.post('organizations/acme/workspaces', resource('workspaces', { name, 'infra-version': version }));
    await release('97.0.0');
    await release('97.1.0');
    index('97.1.0', '97.0.0', '1.5.7', '97.2.0-beta1');
    expect(await refresh()).toEqual({ added: ['97.0.0', '97.1.0'], problems: [] });
    const [{ attributes }] = await found('97.1.0');
    const archive = { url: `${base}/terraform/97.1.0/terraform_97.1.0_linux_amd64.zip`, sha: 'ab'.repeat(32) };
    expect(attributes).toMatchObject({
      ...archive,
      official: true,
      enabled: true,
      beta: false,
      archs: [{ ...archive, os: 'linux', arch: 'amd64' }],
    });
    await choose('newest', '~> 97.0').expect(201);
    expect(await refresh()).toEqual({ added: [], problems: [] });
    expect(await found('1.5.7')).toHaveLength(1);
  });

  it('keeps changes by administrators, even if two refresh at once', async () => {
    const body = resource('infra-versions', { version: '98.0.0', enabled: false, url: 'https://example.com/own.zip' });
    await admin.post('admin/infra-versions', body).expect(201);
    await release('98.0.0');
    await release('98.1.0');
    index('98.0.0', '98.1.0');
    const both = await Promise.all([refresh(), refresh()]);
    expect(both.map(({ problems }) => problems)).toEqual([[], []]);
    expect(await found('98.1.0')).toHaveLength(1);
    expect((await found('98.0.0'))[0].attributes).toMatchObject({ enabled: false, url: 'https://example.com/own.zip' });
  });

  it('knows OpenTofu from its vendor’s list; a version that both vendors list is Terraform’s', async () => {
    for (const version of ['96.0.0', '96.1.0']) await releaseTofu(version);
    await release('96.0.0');
    index('96.0.0');
    const ids = ['96.1.0', '96.0.0', '96.2.0-rc1', '96.3.0'].map((id) => ({ id, files: [`tofu_${id}_SHA256SUMS`] }));
    indexTofu(...ids, null, 'x', {});
    const { added, problems } = await refresh();
    expect(added).toEqual(['96.0.0', '96.1.0']);
    expect(problems).toEqual([expect.stringMatching(/^OpenTofu 96\.3\.0 left out: /)]);
    const shaOf = async (version: string) => (await found(version))[0].attributes;
    expect(await shaOf('96.0.0')).toMatchObject({ sha: 'ab'.repeat(32) });
    const url = `${base}/tofu/v96.1.0/tofu_96.1.0_linux_amd64.zip`;
    expect(await shaOf('96.1.0')).toMatchObject({ sha: 'cd'.repeat(32), url });
    // A bad list of one vendor does not affect the versions of the other vendor.
    files.set('/tofu.json', Buffer.from('{"versions":{}}'));
    await release('96.9.0');
    index('96.9.0');
    expect(await refresh()).toEqual({
      added: ['96.9.0'],
      problems: [expect.stringMatching(/^OpenTofu is left out: .* is not an index of releases$/)],
    });
    indexTofu();
  });

  it('accepts nothing unsigned from a mirror, and reports it', async () => {
    await release('99.0.0');
    files.set('/terraform/99.0.0/terraform_99.0.0_SHA256SUMS', sums('99.0.0').subarray(1));
    index('99.0.0');
    const { added, problems } = await refresh();
    expect(added).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('not signed by a trusted key')]);
    expect(await found('99.0.0')).toEqual([]);
  });

  it('is listed by version number if requested, page by page', async () => {
    const listed = async (query: string): Promise<string[]> =>
      (await admin.get(`admin/infra-versions?${query}`).expect(200)).body.data.map(
        ({ attributes }: { attributes: { version: string } }) => attributes.version,
      );
    const old = await listed('search[version]=0.11.&sort=-version&page[size]=100');
    expect(old.slice(0, 3)).toEqual(['0.11.15', '0.11.14', '0.11.13']);
    expect(old.slice(-2)).toEqual(['0.11.1', '0.11.0']);
    expect(await listed('search[version]=0.11.&sort=-version&page[size]=5&page[number]=2')).toEqual(old.slice(5, 10));
    expect(await listed('search[version]=0.11.&sort=version&page[size]=100')).toEqual(old.toReversed());
  });
});
