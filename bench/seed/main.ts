import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { createService, type Service } from '@keystead/secrets';
import { createLogger } from '@keystead/server';
import pg from 'pg';
import { copyIn } from './copy-in';

const usage = `node --conditions=source --import tsx seed/main.ts [options]

Fills the database of a secrets service with tokens and leases, sealed as the service itself seals them. The service is
configured by its own environment (SECRETS_DATABASE_URL, SECRETS_SEAL_KEY) and is initialised if it is not yet.

  --tokens N    live tokens (1000000)
  --leases N    live leases of a mount at scheduler/ (1000000)
  --due N       of the leases, how many are due at once (0)
  --keys N      keys in one token's cubbyhole, to be listed (0)
  --token T     a token to own the keys; made, and printed, unless given`;

type Kernel = Service['kernel'];
type Set = Parameters<Kernel['tokens']['mint']>[1];

const DAY_SECONDS = 86_400;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tokens: { type: 'string', default: '1000000' },
      leases: { type: 'string', default: '1000000' },
      due: { type: 'string', default: '0' },
      keys: { type: 'string', default: '0' },
      token: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  // The configuration is not part of the package's front; the seed is a tool of this repository.
  const { readConfig } = createRequire(__filename)('../../apps/secrets/src/config') as {
    readConfig(env: NodeJS.ProcessEnv): Parameters<typeof createService>[0];
  };
  const config = readConfig({ SECRETS_LOG_LEVEL: 'silent', ...process.env });
  const service = await createService(config, { log: createLogger({ name: 'seed', level: 'silent' }) });
  const { kernel } = service;
  if (kernel.barrier.sealed) throw new Error('initialise the service first: it has no keys yet');
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  const url = config.databaseUrl;
  const owner = await ownerOf(kernel, values.token);
  const report = async (what: string, work: () => Promise<number>): Promise<void> => {
    const start = performance.now();
    const count = await work();
    const seconds = (performance.now() - start) / 1000;
    if (count > 0) process.stdout.write(`${what}: ${count} in ${seconds.toFixed(1)} s\n`);
  };
  await report('tokens', () => seedTokens(kernel, url, Number(values.tokens)));
  await report('leases', () => seedLeases(kernel, url, Number(values.leases), Number(values.due), owner.hash));
  await report('keys', () => seedKeys(kernel, url, Number(values.keys), owner.key));
  const client = new pg.Client(url);
  await client.connect();
  await report('analysed', async () => {
    await client.query('ANALYZE token, lease, entry');
    return 1;
  });
  await client.end();
  if (!values.token) process.stdout.write(`token: ${owner.token}\n`);
  await service.close();
}

async function ownerOf(kernel: Kernel, given: string | undefined) {
  if (given !== undefined) {
    const record = await kernel.tokens.find(given);
    if (!record) throw new Error('--token is no token of this service');
    return { ...record, token: given };
  }
  const set = emptySet();
  const { token, record } = kernel.tokens.mint(specOf(kernel, 30 * DAY_SECONDS, ['default', 'root']), set);
  await kernel.committer.commit(set);
  return { ...record, token };
}

function specOf(kernel: Kernel, ttlSeconds: number, policies: string[]): Parameters<Kernel['tokens']['mint']>[0] {
  return {
    type: 'service',
    namespaceId: kernel.namespaces.root.uuid,
    namespaceShortId: '',
    path: 'auth/token/create',
    displayName: 'token-seed',
    policies: policies.includes('root') ? ['root'] : policies,
    ttlSeconds,
    renewable: true,
  };
}

function seedTokens(kernel: Kernel, url: string, count: number): Promise<number> {
  if (count === 0) return Promise.resolve(0);
  const columns = 'hash accessor_hash namespace_id path created_at_ms expires_at_ms due_at_ms sealed'.split(' ');
  function* rows() {
    for (let n = 0; n < count; n++) {
      const set = emptySet();
      kernel.tokens.mint(specOf(kernel, 10 * DAY_SECONDS + (n % DAY_SECONDS), ['default']), set);
      const row = set.tokens[0]!;
      const ends = row.expiresAtMs ?? null;
      yield [row.hash, row.accessorHash, row.namespaceId, `${row.path}/`, row.createdAtMs, ends, ends, row.sealed];
    }
  }
  return copyIn(url, 'token', columns, rows());
}

async function seedLeases(kernel: Kernel, url: string, count: number, due: number, owner: Buffer): Promise<number> {
  if (count === 0) return 0;
  const namespace = kernel.namespaces.root;
  const mount = kernel.mounts.at(namespace.uuid, 'scheduler/');
  if (!mount) throw new Error('mount a scheduler engine at scheduler/ first');
  const columns = 'hash namespace_id mount_id path role token_hash issued_at_ms expires_at_ms due_at_ms sealed'.split(
    ' ',
  );
  const record = await kernel.tokens.findByHash(owner);
  let made = 0;
  while (made < count) {
    // Registration is asynchronous; the rows of a portion are made first and then sent.
    const portion = Math.min(50_000, count - made);
    const sets: Set[] = [];
    for (let n = 0; n < portion; n++) {
      const set = emptySet();
      const isDue = made + n < due;
      const ttlSeconds = isDue ? 1 : 10 * DAY_SECONDS + (n % DAY_SECONDS);
      const secret = {
        kind: 'secret' as const,
        type: 'token',
        data: {},
        internal: { accessor_id: `00000000-0000-4000-8000-${String(made + n).padStart(12, '0')}` },
        ttlSeconds,
      };
      await kernel.leases.register({ namespace, mount, path: `scheduler/creds/role-${n % 100}` }, record, secret, set);
      sets.push(set);
    }
    await copyIn(
      url,
      'lease',
      columns,
      sets.map(({ leases: [row] }) => [
        row!.hash,
        row!.namespaceId,
        row!.mountId,
        `${row!.path}/`,
        row!.role,
        row!.tokenHash ?? null,
        row!.issuedAtMs,
        row!.expiresAtMs,
        row!.expiresAtMs,
        row!.sealed,
      ]),
    );
    made += portion;
  }
  return made;
}

function seedKeys(kernel: Kernel, url: string, count: number, folder: string): Promise<number> {
  if (count === 0) return Promise.resolve(0);
  const mountId = kernel.mounts.at(kernel.namespaces.root.uuid, 'cubbyhole/')!.uuid;
  const value = Buffer.from('{"seeded":"yes"}');
  function* rows() {
    for (let n = 0; n < count; n++) {
      const path = `${folder}/list/key-${String(n).padStart(9, '0')}`;
      const sealed = kernel.barrier.seal(value, { table: 'entry', row: `${mountId}/${path}`, column: 'sealed' });
      yield [mountId, path, sealed];
    }
  }
  return copyIn(url, 'entry', ['mount_id', 'path', 'sealed'], rows());
}

function emptySet(): Set {
  return {
    puts: [],
    deletes: [],
    prefixes: [],
    tokens: [],
    leases: [],
    intents: [],
    settled: [],
    notices: [],
    audit: [],
    run: [],
    authorities: [],
  };
}

main().catch((error) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
