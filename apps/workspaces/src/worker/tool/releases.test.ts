import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http, { type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Reach } from '@keystead/outside';
import { zipOf } from '@keystead/testing';
import { createMessage, generateKey, readPrivateKey, sign } from 'openpgp';
import { readOwnConfig } from '../config';
import { fetchTools, NoWorker } from '../deps';
import { findBinaries } from './binaries';
import { findReleased } from './catalogue';
import { fetchTool, type Releases, wantedTool } from './releases';

// An unverified program would run with the credentials of every workspace.

const program = (product: string, version: string) => `#!/bin/sh\necho '${product} v${version}'\n`;
const platform = `linux_${process.arch === 'x64' ? 'amd64' : process.arch}`;

describe('releases of the tool', () => {
  const answers = new Map<string, Buffer | ((answer: ServerResponse) => void)>();
  const asked: string[] = [];
  const mirror = http.createServer((request, answer) => {
    asked.push(request.url ?? '');
    const found = answers.get(request.url ?? '');
    if (typeof found === 'function') found(answer);
    else answer.writeHead(found ? 200 : 404).end(found);
  });
  let base = '';
  let keys = { publicKey: '', privateKey: '' };
  let others = keys;
  let folder = '';
  const made: string[] = [];

  beforeAll(async () => {
    mirror.listen(0, '127.0.0.1');
    await once(mirror, 'listening');
    base = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}`;
    const named = (name: string) => generateKey({ userIDs: [{ name }], format: 'armored' });
    [keys, others] = await Promise.all([named('vendor'), named('stranger')]);
  });
  beforeEach(() => {
    answers.clear();
    asked.length = 0;
    folder = mkdtempSync(path.join(tmpdir(), 'releases-'));
    made.push(folder);
  });
  afterAll(() => {
    mirror.closeAllConnections();
    mirror.close();
    for (const one of made) rmSync(one, { recursive: true });
  });

  const releases = (more: Partial<Releases> = {}): Releases => ({
    places: { Terraform: `${base}/terraform`, OpenTofu: `${base}/tofu` },
    indexes: { Terraform: `${base}/terraform/index.json`, OpenTofu: `${base}/api.json` },
    keys: keys.publicKey,
    folder,
    reach: new Reach(['127.0.0.1/32']),
    milliseconds: 20_000,
    ...more,
  });
  const signed = async (bytes: Buffer, privateKey = keys.privateKey) =>
    Buffer.from(
      (await sign({
        message: await createMessage({ binary: new Uint8Array(bytes) }),
        signingKeys: await readPrivateKey({ armoredKey: privateKey }),
        detached: true,
        format: 'binary',
      })) as Uint8Array,
    );
  /** Adds a release of Terraform to the mirror. */
  const release = async (version: string, archive: Buffer, more: { privateKey?: string; sum?: string } = {}) => {
    const at = `/terraform/${version}/terraform_${version}_`;
    const sum = more.sum ?? createHash('sha256').update(archive).digest('hex');
    const sums = Buffer.from(
      `${'0'.repeat(64)}  terraform_${version}_plan9_mips.zip\n${sum}  terraform_${version}_${platform}.zip\n`,
    );
    answers.set(`${at}SHA256SUMS`, sums);
    answers.set(`${at}SHA256SUMS.sig`, await signed(sums, more.privateKey));
    answers.set(`${at}${platform}.zip`, archive);
    return at;
  };
  const terraform = (version: string) => ({ product: 'Terraform', version }) as const;
  const archive = (version: string) =>
    zipOf([
      ['LICENSE.txt', 'free'],
      ['terraform', program('Terraform', version)],
    ]);
  const refusal = (version: string, more?: Partial<Releases>) =>
    fetchTool(terraform(version), releases(more)).then(
      () => 'taken',
      (error: Error) => error.message,
    );
  const left = () =>
    readdirSync(folder, { recursive: true }).filter((name) => !statSync(path.join(folder, `${name}`)).isDirectory());

  it('are downloaded once, checked, and stored for all', async () => {
    await release('9.8.7', archive('9.8.7'));
    const [file, same] = await Promise.all([
      fetchTool(terraform('9.8.7'), releases()),
      fetchTool(terraform('9.8.7'), releases()),
    ]);
    expect(same).toBe(file);
    expect(await findBinaries([file], '')).toEqual([{ file, product: 'Terraform', version: '9.8.7' }]);
    expect(left()).toEqual([`terraform/9.8.7/${platform}/terraform`]);
    const before = asked.length;
    expect(await fetchTool(terraform('9.8.7'), releases({ keys: others.publicKey }))).toBe(file);
    expect(asked.length).toBe(before);
  });

  it('of OpenTofu are found at their own address', async () => {
    const bytes = zipOf([['tofu', program('OpenTofu', '1.10.0')]]);
    const sums = Buffer.from(`${createHash('sha256').update(bytes).digest('hex')}  tofu_1.10.0_${platform}.zip\n`);
    answers.set('/tofu/v1.10.0/tofu_1.10.0_SHA256SUMS', sums);
    answers.set('/tofu/v1.10.0/tofu_1.10.0_SHA256SUMS.gpgsig', await signed(sums));
    answers.set(`/tofu/v1.10.0/tofu_1.10.0_${platform}.zip`, bytes);
    const file = await fetchTool({ product: 'OpenTofu', version: '1.10.0' }, releases());
    expect(file).toBe(path.join(folder, `tofu/1.10.0/${platform}/tofu`));
  });

  it('are refused if checksum, signature, key, content or version is wrong, and nothing is stored', async () => {
    await release('1.0.1', archive('1.0.1'), { sum: 'ab'.repeat(32) });
    expect(await refusal('1.0.1')).toContain('does not match the checksum in the list of its release');
    await release('1.0.2', archive('1.0.2'), { privateKey: others.privateKey });
    expect(await refusal('1.0.2')).toContain('not signed by a trusted key');
    const at = await release('1.0.3', archive('1.0.3'));
    answers.set(`${at}SHA256SUMS`, Buffer.concat([answers.get(`${at}SHA256SUMS`) as Buffer, Buffer.from('\n')]));
    expect(await refusal('1.0.3')).toContain('not signed by a trusted key');
    await release('1.0.4', archive('1.0.4'));
    expect(await refusal('1.0.4', { keys: 'no keys' })).toContain('not signed by a trusted key');
    answers.set('/terraform/1.0.4/terraform_1.0.4_SHA256SUMS.sig', Buffer.alloc(0));
    expect(await refusal('1.0.4')).toContain('not signed by a trusted key');
    await release('1.0.5', archive('1.0.6'));
    expect(await refusal('1.0.5')).toContain('holds Terraform 1.0.6');
    await release('1.0.7', Buffer.from('no archive'));
    expect(await refusal('1.0.7')).toContain('Terraform 1.0.7 cannot be fetched');
    await release('1.0.8', zipOf([['LICENSE.txt', 'free']]));
    expect(await refusal('1.0.8')).toContain('the archive has no terraform');
    expect(await refusal('1.0.9')).toContain('answered 404');
    expect(left()).toEqual([]);
  });

  it('are found for the catalogue by their signed checksums, even if an index differs', async () => {
    const index = (...versions: string[]) =>
      answers.set(
        '/terraform/index.json',
        Buffer.from(JSON.stringify({ versions: Object.fromEntries(versions.map((one) => [one, {}])) })),
      );
    const find = (more: Partial<Releases> = {}) => findReleased(releases(more), new Set(['4.0.0']), ['Terraform']);
    await release('4.0.1', archive('4.0.1'));
    await release('4.1.0', archive('4.1.0'));
    index('4.1.0', '4.0.0', '4.0.1', '4.2.0-rc1', 'v4.3.0', '../4.4.0');
    const { versions, problems } = await find();
    expect(problems).toEqual([]);
    expect(versions.map(({ version }) => version)).toEqual(['4.0.1', '4.1.0']);
    expect(versions[0]!.archs).toEqual(
      [
        {
          os: 'linux',
          arch: platform.replace('linux_', ''),
          url: `${base}/terraform/4.0.1/terraform_4.0.1_${platform}.zip`,
          sha: createHash('sha256').update(archive('4.0.1')).digest('hex'),
        },
      ].flatMap((one) => [
        { ...one, os: 'plan9', arch: 'mips', url: one.url.replace(platform, 'plan9_mips'), sha: '0'.repeat(64) },
        one,
      ]),
    );
    // No archive is downloaded for that.
    expect(asked.filter((path) => path.endsWith('.zip'))).toEqual([]);
    // A version is left out and reported if its list is signed with another key, changed, missing, or that of another
    // version.
    await release('4.5.0', archive('4.5.0'), { privateKey: others.privateKey });
    const changed = await release('4.6.0', archive('4.6.0'));
    answers.set(`${changed}SHA256SUMS`, Buffer.from(`${'1'.repeat(64)}  terraform_4.6.0_${platform}.zip\n`));
    for (const name of ['SHA256SUMS', 'SHA256SUMS.sig'])
      answers.set(`/terraform/4.7.0/terraform_4.7.0_${name}`, answers.get(`/terraform/4.0.1/terraform_4.0.1_${name}`)!);
    index('4.5.0', '4.6.0', '4.7.0', '4.8.0', '4.1.0');
    const lied = await find();
    expect(lied.versions.map(({ version }) => version)).toEqual(['4.1.0']);
    expect(lied.problems).toEqual([
      expect.stringMatching(/^Terraform 4\.5\.0, 4\.6\.0 left out: .*not signed by a trusted key/),
      expect.stringMatching(/^Terraform 4\.7\.0 left out: .*contains no archive for it/),
      expect.stringMatching(/^Terraform 4\.8\.0 left out: .*answered 404/),
    ]);
    expect((await find({ keys: 'no keys' })).versions).toEqual([]);
    for (const text of ['no JSON', '[]', '{"versions":null}']) {
      answers.set('/terraform/index.json', Buffer.from(text));
      expect(await find()).toEqual({ versions: [], problems: [expect.stringMatching(/^Terraform is left out: /)] });
    }
    answers.delete('/terraform/index.json');
    expect((await find()).problems).toEqual([expect.stringContaining('answered 404')]);
  });

  it('write no files to paths that an archive names', async () => {
    const evil = ['../escaped', '/tmp/escaped', '..\\escaped', 'a/../../escaped', 'terraform/../../escaped'];
    for (const [n, name] of evil.entries()) {
      const version = `2.0.${n}`;
      await release(
        version,
        zipOf([
          [name, 'evil'],
          ['terraform', program('Terraform', version)],
        ]),
      );
      expect(await refusal(version)).not.toBe('taken');
    }
    await release('2.1.0', zipOf([['bin/terraform', program('Terraform', '2.1.0')]]));
    expect(await refusal('2.1.0')).toContain('the archive has no terraform');
    expect(left()).toEqual([]);
  });

  it('are given up if the mirror disconnects, or is silent, slow or endless', async () => {
    const cut = await release('3.0.0', archive('3.0.0'));
    answers.set(`${cut}${platform}.zip`, (answer) => {
      answer.writeHead(200, { 'content-length': '1000' });
      answer.write('half');
      setTimeout(() => answer.destroy(), 20);
    });
    expect(await refusal('3.0.0')).toMatch(/cut off|aborted/);
    answers.set(
      `${cut}${platform}.zip`,
      (answer) => void answer.writeHead(200, { 'content-length': '1000' }).write('half'),
    );
    expect(await refusal('3.0.0', { milliseconds: 300 })).toContain('it took too long');
    answers.set(`${cut}SHA256SUMS`, () => undefined);
    expect(await refusal('3.0.0', { milliseconds: 300 })).toContain('it took too long');
    answers.set(`${cut}SHA256SUMS`, Buffer.alloc(300_000));
    expect(await refusal('3.0.0')).toContain('is larger than 262144 bytes');
    expect(left()).toEqual([]);
  });

  it('follow redirects, but not to metadata, into closed networks, to files or in circles', async () => {
    const at = await release('4.0.0', archive('4.0.0'));
    const leads = (location: string) =>
      answers.set(`${at}SHA256SUMS`, (answer) => void answer.writeHead(302, { location }).end());
    const sums = answers.get(`${at}SHA256SUMS`) as Buffer;
    for (const [location, reason] of [
      ['http://169.254.169.254/latest/meta-data/', 'is closed to calls from here'],
      ['http://[fd00:ec2::254]/', 'is closed to calls from here'],
      ['http://10.0.0.1/', 'is closed to calls from here'],
      ['http://0x7f000002/', 'is closed to calls from here'],
      ['file:///etc/passwd', 'redirects to an address that is not allowed'],
      [`http://user:secret@127.0.0.1/`, 'redirects to an address that is not allowed'],
      [`${at}SHA256SUMS`, 'redirects too often'],
    ] as const) {
      leads(location);
      expect(await refusal('4.0.0')).toContain(reason);
    }
    answers.set('/elsewhere', sums);
    leads('/elsewhere');
    expect(await refusal('4.0.0')).toBe('taken');
    expect(await refusal('4.0.1', { reach: new Reach() })).toContain('is closed to calls from here');
  });

  it('cannot be stored in a folder without write permission', async () => {
    if (process.getuid?.() === 0) return;
    await release('5.0.0', archive('5.0.0'));
    chmodSync(folder, 0o500);
    expect(await refusal('5.0.0')).not.toBe('taken');
  });

  it('follow the settings, and contradictory settings are named', async () => {
    await release('6.0.0', archive('6.0.0'));
    const keysFile = path.join(folder, 'keys.asc');
    writeFileSync(keysFile, keys.publicKey);
    const settings = {
      WORKSPACES_WORKER_VERSIONS: '6.0.0, terraform 6.0.0',
      WORKSPACES_WORKER_RELEASE_KEYS_FILE: keysFile,
      WORKSPACES_WORKER_TERRAFORM_RELEASES: `${base}/terraform/`,
      WORKSPACES_WORKER_RELEASE_NETWORKS: '127.0.0.0/8',
      WORKSPACES_WORKER_TOOLS: folder,
    };
    const file = path.join(folder, `terraform/6.0.0/${platform}/terraform`);
    expect(await fetchTools(readOwnConfig(settings))).toEqual([file, file]);
    const more = { ...settings, WORKSPACES_WORKER_VERSIONS: '6.0.1' };
    await expect(fetchTools(readOwnConfig(more))).rejects.toThrow(NoWorker);
    const bad = { WORKSPACES_WORKER_VERSIONS: 'newest' };
    expect(() => readOwnConfig(bad)).toThrow('must be exact versions such as 1.11.4 or tofu 1.10.0');
    expect(() => readOwnConfig(bad)).toThrow('WORKSPACES_WORKER_VERSIONS needs WORKSPACES_WORKER_RELEASE_KEYS_FILE');
  });

  it.each([
    ['1.11.4', { product: 'Terraform', version: '1.11.4' }],
    ['terraform 1.12.0-rc1', { product: 'Terraform', version: '1.12.0-rc1' }],
    ['tofu 1.10.0', { product: 'OpenTofu', version: '1.10.0' }],
    ['1.11', undefined],
    ['latest', undefined],
    ['1.11.4/../../x', undefined],
    ['packer 1.0.0', undefined],
  ])('are named as %j', (text, wanted) => {
    expect(wantedTool(text)).toEqual(wanted);
  });
});
