import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = join(__dirname, '..');
const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
const example = readFileSync(join(root, '.env.example'), 'utf8');

it('compose names its images with one prefix, which is no registry unless one is configured', () => {
  const images = [...compose.matchAll(/^ *image: (.*)\/(secrets|workspaces|worker|agent):(.*)\n((?: *#.*\n)*)(.*)$/gm)];
  expect(new Set(images.map(([, , name]) => name)).size).toBe(4);
  for (const [, registry, , tag, , next = ''] of images) {
    // Docker treats the part before the first slash as a host only if it has a dot or a port, or is `localhost`.
    expect([registry, tag]).toEqual(['${KEYSTEAD_IMAGES:-localhost/keystead}', '${KEYSTEAD_VERSION:-local}']);
    expect(next.trim()).toMatch(/^pull_policy: \$\{KEYSTEAD_PULL_POLICY:-(build|never)\}$/);
  }
  expect(compose.match(/pull_policy: /g)).toHaveLength(images.length);
  const others = [...compose.matchAll(/^ *image: (.*)$/gm)].length - images.length;
  expect(compose.match(/image: (postgres|haproxy):/g)).toHaveLength(others);
  for (const name of ['KEYSTEAD_IMAGES', 'KEYSTEAD_PULL_POLICY']) expect(example).toContain(`# ${name}=`);
});

it('every image that is built here is a stage of the Dockerfile, and has a health check', () => {
  const stages = [...compose.matchAll(/build: \{ context: \., target: (\w+) \}/g)].map(([, stage]) => stage);
  expect(new Set(stages)).toEqual(new Set(['secrets', 'workspaces', 'worker', 'agent']));
  for (const stage of stages) expect(dockerfile).toMatch(new RegExp(`^FROM \\S+ AS ${stage}$`, 'm'));
  // `up --wait` fails for a container without a check.
  expect(dockerfile.match(/^HEALTHCHECK --interval/gm)).toHaveLength(3);
  expect(dockerfile).not.toContain('HEALTHCHECK NONE');
});

it('compose limits memory and processes of every container of ours', () => {
  expect(compose).toMatch(/^x-service: &service\n(?: .*\n)*? {2}mem_limit: .*\n {2}pids_limit: /m);
  for (const one of ['worker', 'agent'])
    expect(compose).toMatch(
      new RegExp(`target: ${one} }\n.*\n {4}mem_limit: \\$\\{WORKER_MEMORY:-8g}\n {4}pids_limit: `),
    );
});

it('a worker needs no tool on the machine', () => {
  expect(compose).toContain('source: ${WORKSPACES_RELEASE_KEYS:-/dev/null}');
  for (const name of ['WORKSPACES_TOOL=/dev/null', 'WORKSPACES_WORKER_VERSIONS=', 'WORKSPACES_RELEASE_KEYS='])
    expect(example).toContain(`# ${name}`);
});

it('a worker is healthy if it had an answer of the service within the last minute', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heard-'));
  const ask = () =>
    spawnSync(join(__dirname, 'deploy/heard'), { env: { ...process.env, WORKSPACES_WORKER_SCRATCH: folder } }).status;
  const heard = join(folder, 'heard');
  expect(ask()).toBe(1);
  writeFileSync(heard, '');
  expect(ask()).toBe(0);
  const before = Date.now() / 1000 - 70;
  utimesSync(heard, before, before);
  expect(ask()).toBe(1);
  rmSync(folder, { recursive: true });
});

describe('the keys in volumes', () => {
  const page = readFileSync(join(__dirname, 'deploy.md'), 'utf8');
  const folder = mkdtempSync(join(tmpdir(), 'keys-'));
  const keys = join(folder, 'keys');
  const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: folder, stdio: 'pipe' });
  /** Runs the commands that the page runs in the container of the keys, on this machine. */
  const inside = (script: string) =>
    run('sh', '-euc', script.replaceAll('/srv/keystead', join(__dirname, 'deploy')).replaceAll('/keys', keys));
  const read = (file: string) => readFileSync(join(keys, file), 'utf8');
  const scripts = [...page.matchAll(/--entrypoint sh keys -euc '([^']+)'/g)].map(([, script]) => String(script));
  beforeAll(() => void run(join(__dirname, 'deploy/make-secrets.sh'), keys));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are copied to files for production unchanged', () => {
    const [, pack = '', unpack = ''] = /--entrypoint tar keys (.*) \|\n +\((umask .*)\)$/m.exec(page)!;
    run('bash', '-euc', `tar ${pack.replace('/keys', keys)} | (${unpack})`);
    run(join(__dirname, 'deploy/make-secrets.sh'));
    run('diff', '--recursive', keys, join(folder, 'data/compose'));
    expect(statSync(join(folder, 'data/compose')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'data/compose/worker/worker-agent-token')).mode & 0o777).toBe(0o400);
  });

  it('are changed by the commands of the page: the seal key, with the previous one kept, and a password', () => {
    const [seal = '', password = ''] = scripts;
    const before = read('secrets/secrets-seal-key');
    inside(seal);
    expect(read('secrets/secrets-previous-seal-key')).toBe(before);
    expect(read('secrets/secrets-seal-key')).not.toBe(before);
    const old = read('postgres/secrets-password');
    inside(password);
    expect(read('postgres/secrets-password')).not.toBe(old);
    expect(read('secrets/secrets-database-url')).toContain(`:${read('postgres/secrets-password')}@`);
  });
});

it('compose reads any setting of a service from a file, which exists by default', () => {
  const files = [...compose.matchAll(/env_file: .*\["\$\{(\w+):-(.+)\}"\]/g)];
  expect(files.map(([, name]) => name)).toEqual(['SECRETS_SETTINGS', 'WORKSPACES_SETTINGS', 'WORKER_SETTINGS']);
  for (const [, name = '', file = ''] of files) {
    expect(readFileSync(join(root, file), 'utf8')).toMatch(/^(#.*\n)+$/);
    expect(readFileSync(join(root, '.env.example'), 'utf8')).toContain(`# ${name}=`);
  }
});

it('compose stops if a folder of secrets is missing, and creates none', () => {
  const production = readFileSync(join(root, 'docker-compose.production.yml'), 'utf8');
  const sources = production.match(/source: /g) ?? [];
  expect(sources.length).toBeGreaterThan(4);
  expect(production.match(/create_host_path: false/g)).toHaveLength(sources.length);
  expect(production).not.toMatch(/:\/run\/keystead/);
});

it('a container of the secrets service audits every request by default', () => {
  expect(dockerfile).toMatch(/^ENV .*SECRETS_AUDIT_STDOUT=on/m);
  expect(compose).toContain('SECRETS_AUDIT_STDOUT: ${SECRETS_AUDIT_STDOUT:-on}');
});
