import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { RunJob } from '../../workspaces/src/resources/runs/runs/jobs/job';
import { archiveOf, configured, startRun } from '../../workspaces/test/configurations';
import { fakeWorker } from '../../workspaces/test/fake-worker';
import { addKey, providerZip, signatureOf, signingKey, sumsOf } from '../../workspaces/test/signed-provider';
import { readDotEnv, readVariableFile } from '../src/workspaces/variable-file';
import { behindProxy } from './behind-proxy';
import { keystead, type Ran } from './run-keystead';

// Starting a complete service is slow on a busy machine.
jest.setTimeout(120_000);

const home = mkdtempSync(join(tmpdir(), 'keystead-workspaces-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const file = (name: string, content: string | Buffer): string => {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
};
const stateOf = (serial: number, lineage = 'one') =>
  JSON.stringify({ version: 4, serial, lineage, outputs: {}, resources: [] });

describe('the commands of workspaces, against a service', () => {
  const { workspaces, address } = behindProxy();
  const run = (line: string, typed: string[] = [], env: Record<string, string> = {}): Promise<Ran> =>
    keystead(
      line.split(' '),
      {
        HOME: home,
        TFE_ADDRESS: address(),
        TFE_TOKEN: workspaces.admin.token ?? '',
        TF_CLOUD_ORGANIZATION: 'harbour',
        TF_WORKSPACE: 'web',
        ...env,
      },
      typed,
    );
  const json = async (line: string) => {
    const { code, printed, said } = await run(`${line} -format=json`);
    expect({ line, code, said }).toMatchObject({ line, code: 0 });
    return JSON.parse(printed);
  };
  const done = async (...lines: string[]) => {
    for (const line of lines) {
      const { code, said } = await run(line);
      expect({ line, code, said }).toMatchObject({ line, code: 0 });
    }
  };

  beforeAll(() => done('org create -email=crew@example.com harbour', 'ws create -auto-apply web'));

  it('find the service by any of the variables, and the token by its host', async () => {
    const none = { TFE_ADDRESS: '', TFE_TOKEN: undefined as unknown as string };
    const token = workspaces.admin.token ?? '';
    const found = await run(`org list --address=${address()}`, [], { ...none, TF_TOKEN_127_0_0_1: token });
    expect([found.code, found.printed]).toEqual([0, expect.stringContaining('harbour')]);
    expect((await run('org list', [], { WORKSPACES_ADDR: address(), TFE_ADDRESS: 'http://127.0.0.1:9' })).code).toBe(0);
    expect(await run('org list', [], none)).toMatchObject({ code: 1, said: expect.stringContaining('no address') });
    const noToken = await run('org list', [], { TFE_TOKEN: undefined as unknown as string });
    expect(noToken).toMatchObject({ code: 1, said: expect.stringContaining('TF_TOKEN_127_0_0_1') });
    const empty = await run('org list', [], { TFE_TOKEN: ' ' });
    expect(empty).toMatchObject({ code: 1, said: expect.stringContaining('TFE_TOKEN is set but empty') });
    const wrong = await run('org list', [], { TFE_TOKEN: 'wrong' });
    expect(wrong).toMatchObject({ code: 2, said: expect.stringContaining('with the token of TFE_TOKEN') });
    const { host } = new URL(address());
    const plain = await run('org list', [], { TFE_ADDRESS: '', TFE_HOSTNAME: host });
    expect(plain).toMatchObject({ code: 2, said: expect.stringContaining('does it speak plain http?') });
  });

  it('prefer our own variables, then those of other tools, then the token of the host in any spelling', async () => {
    const token = workspaces.admin.token ?? '';
    const unset = undefined as unknown as string;
    const local = address().replace('127.0.0.1', 'localhost');
    const spellings: Record<string, string>[] = [
      { WORKSPACES_TOKEN: token, TFE_TOKEN: 'wrong' },
      { TFE_TOKEN: token, TF_TOKEN_127_0_0_1: 'wrong' },
      { TFE_TOKEN: unset, 'TF_TOKEN_127.0.0.1': token },
      { TFE_TOKEN: unset, TFE_ADDRESS: local, TF_TOKEN_LocalHost: token, TF_TOKEN_127_0_0_1: 'wrong' },
    ];
    for (const env of spellings) {
      expect({ env, ...(await run('org list', [], env)) }).toMatchObject({ env, code: 0 });
    }
  });

  it('create, show, list, lock and delete workspaces and organizations', async () => {
    await done('ws create -execution-mode=local -description=second other');
    expect((await json('ws show other')).attributes).toMatchObject({
      'execution-mode': 'local',
      description: 'second',
    });
    expect((await run('ws list -search=oth')).printed).toMatch(/^name.*\nother +local +false/);
    expect((await json('ws list')).length).toBe(2);
    const { id } = await json('ws show web');
    expect((await run(`ws show ${id}`)).printed).toMatch(/^name +web$/m);
    await done('ws lock -reason=looking other');
    expect((await run('ws lock other')).code).toBe(2);
    await done('ws unlock other', 'state lock other', 'state unlock -force other', 'ws delete other');
    expect((await run('ws show other')).code).toBe(2);
    await done('org create -email=a@example.com quay');
    expect((await run('org show quay')).printed).toMatch(/^email +a@example.com$/m);
    await done('org delete quay');
    expect((await run('org show quay')).code).toBe(2);
  });

  it('publish modules, and verify who published which archive', async () => {
    const archive = file('berth.tar.gz', await archiveOf());
    const commit = 'cd'.repeat(20);
    await done(`registry publish -commit=${commit} berth/aws 1.0.0 ${archive}`);
    expect((await run(`registry publish berth/aws 1.0.0 ${archive}`)).code).toBe(2);
    const verified = await run('registry verify harbour/berth/aws 1.0.0');
    expect(verified).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^verified +harbour\/berth\/aws 1\.0\.0$/m),
    });
    expect(verified.printed).toMatch(new RegExp(`^commit, not checked +${commit}$`, 'm'));
    expect(verified.printed).toMatch(/^by +admin$/m);
    await done(`registry verify -archive=${archive} harbour/berth/aws 1.0.0`);
    const other = file('other.tar.gz', await archiveOf([['main.tf', '']]));
    const wrong = await run(`registry verify -archive=${other} harbour/berth/aws 1.0.0`);
    expect(wrong).toMatchObject({ code: 2, said: expect.stringContaining('the archive has SHA-256') });
    expect((await run('registry verify harbour/berth/aws 9.0.0')).said).toContain('has no provenance statement');
    const { keys } = (await (await fetch(`${address()}/api/registry/v1/provenance-keys`)).json()) as { keys: object[] };
    const saved = (trusted: object[]) => file('keys.json', JSON.stringify({ keys: trusted }));
    await done(`registry verify -keys=${saved(keys)} harbour/berth/aws 1.0.0`);
    const forged = await run(`registry verify -keys=${saved([])} harbour/berth/aws 1.0.0`);
    expect(forged).toMatchObject({ code: 2, said: expect.stringContaining('is not signed by a key') });
    // Someone who can write to the database still lacks the key.
    const { pool } = workspaces.service;
    await pool.query(`UPDATE registry_module_version SET provenance =
      jsonb_set(provenance::jsonb, '{payload}', to_jsonb(encode('{}', 'base64')))::text`);
    expect((await run('registry verify harbour/berth/aws 1.0.0')).said).toContain('is not signed by a key');
  });

  it('plan the workspaces that use a module with another version, and fail if one plan fails', async () => {
    const files = join(home, 'mole');
    mkdirSync(files);
    writeFileSync(join(files, 'main.tf'), 'output "length" {\n value = 300\n}\n');
    await done(`registry publish mole/aws 1.0.0 ${files}`);
    const source = `${new URL(workspaces.service.env.publicUrl).host}/harbour/mole/aws`;
    const worker = fakeWorker(workspaces, 'worker-mole');
    for (const name of ['north', 'south']) {
      const { id } = await workspaces.workspace('harbour', name);
      await configured(workspaces, id);
      await startRun(workspaces.admin, id).expect(201);
      const requirements = [{ kind: 'module' as const, source, version: '1.0.0', constraint: '~> 1.0' }];
      await worker.plan({ hasChanges: false, requirements });
    }
    const trying = run('registry try mole/aws 2.0.0');
    const jobs: RunJob[] = [];
    for (const outcome of ['planned', 'errored'] as const) {
      let job = await worker.claim();
      for (; job === undefined; job = await worker.claim()) await sleep(50);
      jobs.push(job);
      await worker.start(job);
      await worker.endPlan(
        job,
        outcome === 'planned' ? { outcome, hasChanges: true } : { outcome, errorMessage: 'no' },
      );
    }
    for (const job of jobs) expect(job.moduleVersions).toEqual([{ source, version: '2.0.0' }]);
    const { code, printed } = await trying;
    expect([code, printed]).toEqual([2, expect.stringMatching(/^workspace +status +changes +run\n/)]);
    expect(printed).toMatch(/^(north|south) +planned_and_finished +yes +run-\w+$/m);
    expect(printed).toMatch(/^(north|south) +errored +no +run-\w+$/m);
    await worker.retire();
  });

  it('publish the organization’s own and mirrored providers from the files of a release', async () => {
    const own = await signingKey('harbour');
    const keyId = await addKey(workspaces.admin, 'harbour', own);
    for (const [provider, at] of [
      ['crane', 'private/harbour/crane'],
      ['registry.terraform.io/hashicorp/sand', 'public/hashicorp/sand'],
      ['registry.opentofu.org/hashicorp/sand', 'registry.opentofu.org/hashicorp/sand'],
    ] as const) {
      const name = provider.split('/').at(-1)!;
      const folder = mkdtempSync(join(home, 'release-'));
      const prefix = `terraform-provider-${name}_1.0.0_`;
      const archive = providerZip(name, '1.0.0');
      const sums = sumsOf([[`${prefix}linux_amd64.zip`, archive]]);
      const lacking = await run(`registry add-provider -key=${keyId} ${provider} 1.0.0 ${folder}`);
      expect(lacking).toMatchObject({ code: 1, said: expect.stringContaining('has no terraform-provider') });
      writeFileSync(join(folder, `${prefix}linux_amd64.zip`), archive);
      writeFileSync(join(folder, `${prefix}SHA256SUMS`), sums);
      writeFileSync(join(folder, `${prefix}SHA256SUMS.sig`), await signatureOf(sums, own));
      await done(`registry add-provider -key=${keyId} ${provider} 1.0.0 ${folder}`);
      const platform = `organizations/harbour/registry-providers/${at}/versions/1.0.0/platforms/linux/amd64`;
      const { body } = await workspaces.admin.get(platform).expect(200);
      expect(body.data.attributes['provider-binary-uploaded']).toBe(true);
    }
  });

  it('write, read and roll back states under the lock', async () => {
    const first = file('first.tfstate', stateOf(1));
    await done(`state push ${first}`);
    expect((await run('state push -', [stateOf(2)])).code).toBe(0);
    expect(JSON.parse((await run('state pull')).printed)).toMatchObject({ serial: 2, lineage: 'one' });
    expect(await run(`state push ${first}`)).toMatchObject({ code: 2 });
    expect((await json('ws show web')).attributes.locked).toBe(false);
    const [, older] = (await json('state list')) as { id: string }[];
    expect((await run(`state pull ${older?.id}`)).printed).toBe(stateOf(1));
    expect((await run(`state show ${older?.id}`)).printed).toMatch(/^serial +1$/m);
    const back = await json(`state rollback ${older?.id}`);
    expect(back.attributes.serial).toBe(3);
    expect((await run('state list')).printed.trim().split('\n')).toHaveLength(4);
    expect(await run('state push -', ['{}'])).toMatchObject({
      code: 1,
      said: expect.stringContaining('is not a state'),
    });
  });

  it('upload a large state by its link', async () => {
    await done('ws create big');
    const large = JSON.stringify({ ...JSON.parse(stateOf(1, 'big')), filler: 'x'.repeat(1_500_000) });
    await done(`state push -workspace=big ${file('big.tfstate', large)}`);
    expect((await run('state pull -workspace=big')).printed.length).toBe(large.length);
  });

  it('set, list, import and delete variables, and read no sensitive value from an argument', async () => {
    await done('var set region=north', 'var set -hcl zones=["a","b"]', 'var set region=south -description=where');
    expect((await run('var set -env -sensitive KEY', ['hidden'])).code).toBe(0);
    expect(await run('var set -sensitive KEY=seen')).toMatchObject({
      code: 1,
      said: expect.stringContaining('only KEY'),
    });
    const tfvars = file('prod.tfvars', 'size = 3 # many\nname = "a # b"\nlist = [\n  "x", # one\n  "y",\n]\n');
    await done(`var import ${tfvars}`, `var import ${file('prod.env', 'LEVEL=debug\nQUOTED="a b"\n')}`);
    const listed = (await json('var list')) as { attributes: Record<string, unknown> }[];
    const shown = listed.map(({ attributes: { key, value, category, hcl } }) => [key, value, category, hcl]);
    expect(shown.sort()).toEqual([
      ['KEY', null, 'env', false],
      ['LEVEL', 'debug', 'env', false],
      ['QUOTED', 'a b', 'env', false],
      ['list', '[\n  "x", # one\n  "y",\n]', 'terraform', true],
      ['name', 'a # b', 'terraform', false],
      ['region', 'south', 'terraform', false],
      ['size', '3', 'terraform', true],
      ['zones', '["a","b"]', 'terraform', true],
    ]);
    expect((await run('var list')).printed).toMatch(/^KEY +\(sensitive\) +env +text$/m);
    await done('var delete region zones', 'var delete -env LEVEL');
    expect(await run('var delete region')).toMatchObject({
      code: 2,
      said: expect.stringContaining('no variable region'),
    });
  });

  it('start, show, list, discard and cancel runs, and print their logs', async () => {
    const configuration = file('main.tar.gz', gzipSync(Buffer.alloc(1024)));
    const run1 = await json(`run create -message=first -configuration=${configuration}`);
    expect(run1.attributes).toMatchObject({ message: 'first' });
    expect((await run('run list')).printed).toContain(run1.id);
    expect((await run(`run show ${run1.id}`)).printed).toMatch(/^message +first$/m);
    const newest = JSON.parse((await run('run list -format=json')).printed)[0].id;
    expect((await json('run show')).id).toBe(newest);
    expect((await run(`run logs ${run1.id}`)).code).toBe(0);
    await done(`run discard -comment=no ${run1.id}`);
    expect((await json(`run show ${run1.id}`)).attributes.status).toBe('discarded');
    expect(await run(`run logs -follow ${run1.id}`)).toMatchObject({
      code: 0,
      said: expect.stringContaining('discarded'),
    });
    const run2 = await json('run create -plan-only');
    await done(`run cancel ${run2.id}`);
    expect(await run(`run logs -follow ${run2.id}`)).toMatchObject({ code: 2 });
    expect((await run(`run apply ${run2.id}`)).code).toBe(2);
    const tar = file('none.tar', 'no archive');
    expect(await run(`run create -configuration=${tar}`)).toMatchObject({
      code: 1,
      said: expect.stringContaining('gzip'),
    });
    expect((await run(`run create -configuration=${join(home, 'absent')}`)).code).toBe(1);
  });

  it('hide, restore and purge the results of a plan', async () => {
    const worker = fakeWorker(workspaces);
    await worker.claim();
    await done('ws create hushed');
    const configuration = file('hushed.tar.gz', gzipSync(Buffer.alloc(1024)));
    const { id } = await json(`run create -plan-only -workspace=hushed -configuration=${configuration}`);
    let job = await worker.take('plan');
    while (job.runId !== id) job = await worker.take('plan');
    await worker.start(job);
    await worker.log(job, 'will perform');
    await worker.endPlan(job, { outcome: 'planned', hasChanges: false });
    const log = async () => (await run(`run logs ${id}`)).printed;
    expect(await log()).toContain('will perform');
    await done(`run hide ${id}`);
    expect(await log()).not.toContain('will perform');
    expect((await run(`run hide -apply ${id}`)).code).toBe(2);
    await done(`run restore ${id}`);
    expect(await log()).toContain('will perform');
    await done(`run hide ${id}`, `run purge ${id}`);
    expect((await run(`run restore ${id}`)).code).toBe(2);
  });

  it('create, fill and delete address lists', async () => {
    await done('address create -limits=all_agent_pools -description=racks racks', 'address create office');
    await done('address add racks 192.0.2.0/24 198.51.100.7', 'address add -disabled office 203.0.113.0/24');
    const { printed } = await run('address list');
    expect(printed).toMatch(/^racks +all_agent_pools +192\.0\.2\.0\/24 +enabled$/m);
    expect(printed).toMatch(/^racks +all_agent_pools +198\.51\.100\.7\/32 +enabled$/m);
    expect(printed).toMatch(/^office +organization +203\.0\.113\.0\/24 +disabled$/m);
    await done('address delete racks 192.0.2.0/24');
    expect((await run('address list')).printed).not.toContain('192.0.2.0');
    expect(await run('address delete racks 192.0.2.0/24')).toMatchObject({
      code: 2,
      said: expect.stringContaining('no range 192.0.2.0/24'),
    });
    await done('address create office');
    expect(await run('address delete office')).toMatchObject({ code: 2, said: expect.stringContaining('give an id') });
    for (const { id } of await json('address list')) await done(`address delete ${id}`);
    expect(await json('address list')).toEqual([]);
    expect(await run('address add office 192.0.2.0/24')).toMatchObject({ code: 2 });
  });

  it('pack the folder of a configuration, without the files of the tool and of git', async () => {
    const folder = join(home, 'configuration');
    for (const name of ['modules/net', '.terraform/providers', '.git'])
      mkdirSync(join(folder, name), { recursive: true });
    for (const name of ['main.tf', 'modules/net/main.tf', '.terraform/providers/large', '.git/config'])
      writeFileSync(join(folder, name), name);
    const made = await json(`run create -plan-only ${folder}`);
    expect((await run(`run create -configuration=${folder} ${folder}`)).said).toContain('two configurations are given');
    const id = made.relationships['configuration-version'].data.id;
    const headers = { authorization: `Bearer ${workspaces.admin.token}` };
    const download = await fetch(`${address()}/api/v2/configuration-versions/${id}/download`, { headers });
    const names = gunzipSync(new Uint8Array(await download.arrayBuffer())).toString();
    expect(names).toContain('./main.tf');
    expect(names).toContain('./modules/net/main.tf');
    expect(names).not.toMatch(/\.terraform|\.git/);
  });
});

describe('a file of variables', () => {
  it('is read by the rules of the language', () => {
    const text = [
      '# a remark',
      'plain = "text \\"quoted\\" // no remark"',
      'template = "a %{b}" // a remark',
      '"odd-name" = true',
      'map = { a = "}", b = [1, 2] }',
      'long = <<EOT',
      'one }',
      'EOT',
      'nested = {',
      '  a = "x" # with } in it',
      '}',
    ].join('\n');
    expect(readVariableFile(text, 'f')).toEqual([
      { key: 'plain', value: 'text "quoted" // no remark', hcl: false },
      { key: 'template', value: '"a %{b}"', hcl: true },
      { key: 'odd-name', value: 'true', hcl: true },
      { key: 'map', value: '{ a = "}", b = [1, 2] }', hcl: true },
      { key: 'long', value: '<<EOT\none }\nEOT', hcl: true },
      { key: 'nested', value: '{\n  a = "x" # with } in it\n}', hcl: true },
    ]);
    expect(readVariableFile('{"a":"x","b":[1]}', 'f')).toEqual([
      { key: 'a', value: 'x', hcl: false },
      { key: 'b', value: '[1]', hcl: true },
    ]);
    expect(readDotEnv('A=1\n# no\nexport B="two words"\n', 'f')).toEqual([
      { key: 'A', value: '1', hcl: false },
      { key: 'B', value: 'two words', hcl: false },
    ]);
  });

  it.each([
    ['no assignment', 'what', 'f:1: give name = value'],
    ['an open bracket', 'a = 1\nb = [1,\n', 'f:2: b has no end'],
    ['no value', 'a =\n', 'f:1: a has no value'],
    ['nothing', '# nothing\n', 'sets no variable'],
    ['incomplete JSON', '{"a":', 'is not JSON'],
  ])('with %s is refused with the position', (_, text, message) => {
    expect(() => readVariableFile(text, 'f')).toThrow(message);
  });
});
