import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { findProgram, freePort, testCertificate } from '@keystead/testing';
import { replaceModuleVersions } from '../../src/worker/tool/job-files';
import { callsIn, requirementsOf } from '../../src/worker/tool/requirements';
import { archiveOf, configured, putUrl, startRun } from '../configurations';
import { fakeWorker } from '../fake-worker';
import { organizationToken } from '../members';
import { addKey, publishProvider, signingKey } from '../signed-provider';
import { resource, startWorkspaces } from '../start-workspaces';

jest.setTimeout(120_000);
const execute = promisify(execFile);
const arch = process.arch === 'x64' ? 'amd64' : process.arch;
const tools = [
  ['Terraform', findProgram('terraform')],
  ['OpenTofu', process.env.KEYSTEAD_TOFU ?? findProgram('tofu')],
] as const;

// The real tools over TLS, with a registry that only this installation serves.
describe('the registry, used by the tools', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'registry-'));
  const env: Record<string, string> = {};
  let host = '';
  beforeAll(async () => {
    host = `127.0.0.1:${await freePort()}`;
    env.WORKSPACES_PUBLIC_URL = `https://${host}`;
  });
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;
  const worker = fakeWorker(workspaces);
  let listening: Server;

  beforeAll(async () => {
    listening = createServer(testCertificate, workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(Number(host.split(':')[1]), resolve));
    writeFileSync(path.join(box, 'ca.pem'), testCertificate.cert);
    await workspaces.organization('acme');
    await workspaces.organization('other');
    await admin
      .post('organizations/acme/registry-modules', resource('registry-modules', { name: 'quay', provider: 'crane' }))
      .expect(201);
    for (const [version, said] of [
      ['1.0.0', 'old'],
      ['1.1.0', 'new'],
      ['2.0.0-rc1', 'next'],
    ] as const) {
      const body = resource('registry-module-versions', { version });
      const made = await admin.post('registry-modules/acme/quay/crane/versions', body).expect(201);
      const archive = await archiveOf([
        ['main.tf', `output "said" { value = "${said}" }`],
        ['modules/deep/main.tf', `output "deep" { value = "deep-${said}" }`],
      ]);
      await putUrl(workspaces, made.body.data.links.upload, archive).expect(200);
    }
    const own = await signingKey('acme');
    const key = { ...own, keyId: await addKey(admin, 'acme', own) };
    const provider = { name: 'crane', namespace: 'acme', 'registry-name': 'private' };
    await admin.post('organizations/acme/registry-providers', resource('registry-providers', provider)).expect(201);
    for (const version of ['1.0.0', '1.1.0']) {
      await publishProvider(workspaces, 'acme', 'crane', version, key, [['linux', arch]]);
    }
    // The organization's own providers are not tested: the tools do not use a mirror for a host with a port.
    for (const [registry, name] of [
      ['public', 'sand'],
      ['registry.opentofu.org', 'sand'],
      ['registry.example.com', 'rope'],
    ] as const) {
      const place = { registry, namespace: 'hashicorp' };
      const attributes = { name, namespace: 'hashicorp', 'registry-name': registry };
      await admin.post('organizations/acme/registry-providers', resource('registry-providers', attributes)).expect(201);
      await publishProvider(workspaces, 'acme', name, '2.0.0', key, [['linux', arch]], place);
    }
  });
  afterAll(() => {
    listening.closeAllConnections();
    listening.close();
    rmSync(box, { recursive: true, force: true });
  });

  const folder = (name: string, main: string, token: string, program: string, more = '') => {
    const cwd = path.join(box, name);
    mkdirSync(cwd, { recursive: true });
    writeFileSync(path.join(cwd, 'main.tf'), main);
    const TF_CLI_CONFIG_FILE = path.join(cwd, 'tool.rc');
    writeFileSync(
      TF_CLI_CONFIG_FILE,
      `disable_checkpoint = true\ncredentials "${host}" {\n  token = "${token}"\n}\n${more}`,
    );
    const environment = {
      PATH: process.env.PATH,
      HOME: box,
      TF_CLI_CONFIG_FILE,
      SSL_CERT_FILE: path.join(box, 'ca.pem'),
    };
    const run = async (...args: string[]) => {
      const { stdout, stderr } = await execute(program, args, { cwd, env: environment });
      return stdout + stderr;
    };
    return { cwd, run };
  };
  const mirror = (organization: string) => `provider_installation {
  network_mirror {
    url = "https://${host}/api/registry/mirror/${organization}/"
  }
}
`;
  const mirrored = `terraform {
  required_providers {
    sand = {
      source = "hashicorp/sand"
    }
    rope = {
      source  = "registry.example.com/hashicorp/rope"
      version = "2.0.0"
    }
  }
}`;
  const uses = (version: string) => `
module "quay" {
  source  = "${host}/acme/quay/crane"
  version = "${version}"
}
module "deep" {
  source  = "${host}/acme/quay/crane//modules/deep"
  version = "${version}"
}
output "said" { value = "\${module.quay.said} \${module.deep.deep}" }`;

  describe.each(tools)('%s', (product, program) => {
    const it = program === undefined ? test.skip : test;

    it('installs modules and submodules by init, and applies them', async () => {
      const { cwd, run } = folder(`${product}-modules`, uses('~> 1.0'), admin.token!, program!);
      await run('init', '-no-color');
      const installed = readFileSync(path.join(cwd, '.terraform/modules/modules.json'), 'utf8');
      expect(installed).toContain('"Version":"1.1.0"');
      await run('apply', '-auto-approve', '-no-color');
      expect(await run('output', '-raw', 'said')).toBe('new deep-new');
      await run('plan', '-out=plan', '-no-color');
      const plan: unknown = JSON.parse(await run('show', '-json', 'plan'));
      expect(requirementsOf(plan, { modules: Buffer.from(installed), lock: undefined })).toEqual([
        { kind: 'module', source: `${host}/acme/quay/crane`, version: '1.1.0', constraint: '~> 1.0' },
      ]);
    });

    it('plans with a version of a module that the configuration does not accept', async () => {
      const source = `${host}/acme/quay/crane`;
      const called = `module "quay" {\n  source  = "${source}"\n  version = "~> 1.0"\n}\n`;
      const main = `${called}module "app" {\n  source = "./app"\n}\noutput "said" {\n  value = "${'$'}{module.quay.said} ${'$'}{module.app.said}"\n}\n`;
      const { cwd, run } = folder(`${product}-try/config`, main, admin.token!, program!);
      mkdirSync(path.join(cwd, 'app'));
      writeFileSync(path.join(cwd, 'app/main.tf'), `${called}output "said" {\n  value = module.quay.said\n}\n`);
      await run('init', '-no-color');
      expect(await run('plan', '-no-color')).toContain('"new new"');
      const calls = callsIn(readFileSync(path.join(cwd, '.terraform/modules/modules.json')));
      const jobFolder = { folder: path.dirname(cwd), owner: undefined };
      const versions = [{ source, version: '2.0.0-rc1' }];
      expect(await replaceModuleVersions(jobFolder, 'config', calls, versions)).toEqual(['app.quay', 'quay']);
      await run('init', '-no-color');
      expect(await run('plan', '-no-color')).toContain('"next next"');
    });

    it('installs modules with the token of a run', async () => {
      const { id } = await workspaces.workspace('acme', `of-${product}`);
      await configured(workspaces, id);
      await startRun(admin, id).expect(201);
      const job = await worker.take('plan');
      const { registry } = await worker.inputs(job, `https://${host}`);
      const { run } = folder(`${product}-run`, uses('2.0.0-rc1'), registry!.token, program!);
      await run('init', '-no-color');
      await worker.endPlan(job, { outcome: 'errored', errorMessage: 'over' });
      const late = folder(`${product}-late`, uses('1.0.0'), registry!.token, program!);
      await expect(late.run('init', '-no-color')).rejects.toThrow(/401|unauthorized/i);
    });

    it('installs a signed provider by init, and locks its checksums', async () => {
      const main = `terraform {
  required_providers {
    crane = {
      source  = "${host}/acme/crane"
      version = "~> 1.0"
    }
  }
}`;
      const { cwd, run } = folder(`${product}-provider`, main, admin.token!, program!);
      expect(await run('init', '-no-color')).toMatch(/Installed \S+\/acme\/crane v1\.1\.0 \((self-)?signed/);
      const lock = readFileSync(path.join(cwd, '.terraform.lock.hcl'));
      expect(requirementsOf(undefined, { modules: undefined, lock })).toEqual([
        { kind: 'provider', source: `${host}/acme/crane`, version: '1.1.0', constraint: '~> 1.0' },
      ]);
      const { token } = await organizationToken(workspaces, 'other');
      await expect(folder(`${product}-foreign`, main, token!, program!).run('init')).rejects.toThrow(/acme\/crane/);
    });

    it('installs mirrored providers from the network mirror, and locks their checksums', async () => {
      const { cwd, run } = folder(`${product}-mirror`, mirrored, admin.token!, program!, mirror('acme'));
      expect(await run('init', '-no-color')).toMatch(/Installed hashicorp\/sand v2\.0\.0/);
      const locked = readFileSync(path.join(cwd, '.terraform.lock.hcl'), 'utf8');
      expect(locked.match(/h1:/g)).toHaveLength(2);
      // The hash in the mirror's answer is equal to the hash that the tool computes after the download.
      const { body } = await admin.get('/api/registry/mirror/acme/registry.example.com/hashicorp/rope/2.0.0.json');
      expect(locked).toContain(body.archives[`linux_${arch}`].hashes[0]);
      rmSync(path.join(cwd, '.terraform'), { recursive: true });
      await run('init', '-no-color', '-lockfile=readonly');
      const { token } = await organizationToken(workspaces, 'other');
      const foreign = folder(`${product}-no-mirror`, mirrored, token!, program!, mirror('acme'));
      await expect(foreign.run('init', '-no-color')).rejects.toThrow(/hashicorp\/sand/);
    });

    it('installs nothing with a token that may not read', async () => {
      const { token } = await organizationToken(workspaces, 'other');
      const { run } = folder(`${product}-other`, uses('1.0.0'), token!, program!);
      await expect(run('init', '-no-color')).rejects.toThrow(/not found/i);
    });
  });
});
