import os from 'node:os';
import { parseArgs } from 'node:util';
import { fillBare } from './copy-in';
import { configuration, emptySet, openService } from './kernel';
import { seeded, tokenSpec, type What } from './tables';
import { SealingThreads } from './threads';

const usage = `node --conditions=source --import tsx seed/main.ts [options]

Fills the database of a secrets service with tokens and leases, sealed as the service itself seals them. The service is
configured by its own environment (SECRETS_DATABASE_URL, SECRETS_SEAL_KEY), is initialised, and no node of it runs: the
tables are locked meanwhile.

  --tokens N    live tokens (1000000)
  --leases N    live leases of a mount at scheduler/ (1000000)
  --due N       of the leases, how many are due at once (0)
  --keys N      keys in one token's cubbyhole, to be listed (0)
  --token T     a token to own leases and keys; made, and printed, unless given
  --threads N   threads that make rows (one less than there are cores)`;

const MONTH_SECONDS = 30 * 86_400;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tokens: { type: 'string', default: '1000000' },
      leases: { type: 'string', default: '1000000' },
      due: { type: 'string', default: '0' },
      keys: { type: 'string', default: '0' },
      token: { type: 'string' },
      threads: { type: 'string', default: String(Math.max(1, os.availableParallelism() - 1)) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  const start = performance.now();
  const since = (from: number) => `${((performance.now() - from) / 1000).toFixed(1)} s`;
  const url = configuration().databaseUrl;
  const owner = await findOwner(values.token);
  const threads = await SealingThreads.start(Number(values.threads), {
    ownerHash: owner.hash,
    due: Number(values.due),
  });
  const fill = async (what: What, name: string, count: number): Promise<void> => {
    if (count === 0) return;
    const startedAtMs = performance.now();
    const { indexed } = await fillBare(url, what, seeded[what].columns, threads.rows(what, count));
    process.stdout.write(`${name}: ${count} in ${since(startedAtMs)}\n`);
    // The next table is filled while this one gets its indexes.
    indexing.push(
      indexed.then(() => void process.stdout.write(`${name}: indexed ${since(startedAtMs)} after the first\n`)),
    );
  };
  const indexing: Promise<void>[] = [];
  try {
    await fill('token', 'tokens', Number(values.tokens));
    await fill('lease', 'leases', Number(values.leases));
    await fill('entry', 'keys', Number(values.keys));
  } finally {
    await threads.stop();
  }
  await Promise.all(indexing);
  process.stdout.write(`all: ${since(start)}\n`);
  if (!values.token) process.stdout.write(`token: ${owner.token}\n`);
}

async function findOwner(ownerToken: string | undefined): Promise<{ token: string; hash: Buffer }> {
  const service = await openService();
  const { kernel } = service;
  try {
    if (ownerToken !== undefined) {
      const record = await kernel.tokens.find(ownerToken);
      if (!record) throw new Error('--token is not a token of this service');
      return { token: ownerToken, hash: record.hash };
    }
    const set = emptySet();
    const { token, record } = kernel.tokens.mint(tokenSpec(kernel, MONTH_SECONDS, ['root']), set);
    await kernel.committer.commit(set);
    return { token, hash: record.hash };
  } finally {
    await service.close();
  }
}

main().catch((error) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(1);
});
