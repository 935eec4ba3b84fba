import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import {
  applyMigrations,
  binariesIn,
  type EmbeddedServer,
  onDatabase,
  socketFolders,
  startEmbedded,
  withClient,
} from '@keystead/postgres';
import { type Failed, ownersUrl, type Ready } from './broker';
import { misunderstood } from './misunderstood';
import { quickFolder } from './quick-folder';

// The process that owns the PostgreSQL of one test run. Each line on its input names a service, or `server`, and gets
// one line of JSON. When its input ends, for any reason, it removes everything it created and exits; its last output is
// the statements that the server did not understand.

const root = path.resolve(__dirname, '../../..');
const prefix = `keystead_test_${randomBytes(4).toString('hex')}`;
const templates = new Map<string, string>();
let server: EmbeddedServer | undefined;
let socketFolder: string | undefined;
let box: string | undefined;
let adminUrl: string | undefined;
const owner = { name: `${prefix}_owner`, password: randomBytes(12).toString('hex') };

async function start(): Promise<string> {
  if (adminUrl) return adminUrl;
  const url = process.env.KEYSTEAD_TEST_POSTGRES_URL;
  if (url) {
    return createTemplate(onDatabase(url, 'postgres'));
  }
  box = mkdtempSync(path.join(quickFolder(), 'keystead-test-'));
  const bin = process.env.KEYSTEAD_TEST_POSTGRES_BIN;
  const dataDir = path.join(box, 'postgres');
  // A query through a socket takes two thirds of the processor time of one through a port. On the machine's own
  // PostgreSQL, the tests use the port.
  if (bin === undefined) [socketFolder] = socketFolders(dataDir).filter((folder) => folder === dataDir);
  // Written as `name=value name=value`.
  const parameters = Object.fromEntries(
    new URLSearchParams((process.env.KEYSTEAD_TEST_POSTGRES_SETTINGS ?? '').replaceAll(' ', '&')),
  );
  server = await startEmbedded({
    dataDir,
    binaries: bin ? binariesIn(bin) : undefined,
    // This data need not survive a power cut; tests that need a durable server start their own.
    settings: {
      fsync: 'off',
      full_page_writes: 'off',
      max_connections: '500',
      max_wal_size: '2GB',
      log_line_prefix: '[%e] ',
      ...(socketFolder === undefined ? {} : { unix_socket_directories: `"${socketFolder}"` }),
      ...parameters,
    },
  });
  return createTemplate(server.url('postgres'));
}

/** Creates the owner of all databases, who is not a superuser. */
async function createTemplate(admin: string): Promise<string> {
  await withClient(admin, async (client) => {
    // The owner's password is random, so thousands of hash rounds per connection would protect nothing. The setting
    // exists from PostgreSQL 16 on.
    await client.query("SELECT set_config(name, '1', false) FROM pg_settings WHERE name = 'scram_iterations'");
    await client.query(`CREATE ROLE ${owner.name} LOGIN CREATEDB PASSWORD '${owner.password}'`);
  });
  adminUrl = admin;
  return admin;
}

async function template(service: string, admin: string): Promise<string> {
  const there = templates.get(service);
  if (there) return there;
  const name = `${prefix}_${service}`;
  await withClient(admin, (client) =>
    client.query(`CREATE DATABASE "${name}" OWNER ${owner.name} TEMPLATE template0 ENCODING 'UTF8'`),
  );
  const url = ownersUrl({ adminUrl: admin, owner, socketFolder }, name);
  await applyMigrations({ url, dir: path.join(root, 'prisma', service, 'migrations') });
  templates.set(service, name);
  return name;
}

async function answer(question: string): Promise<Ready | Failed> {
  try {
    const admin = await start();
    return {
      adminUrl: admin,
      owner,
      prefix,
      template: question === 'server' ? undefined : await template(question, admin),
      dataDir: box && path.join(box, 'postgres'),
      socketFolder,
      logFile: server?.logFile,
    };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

async function removeAll(): Promise<void> {
  if (server) {
    await server.stop({ immediate: true });
    for (const statement of misunderstood(readFileSync(server.logFile, 'utf8'))) {
      process.stderr.write(`${statement}\nfailed: a statement that PostgreSQL does not understand\n`);
    }
  } else if (adminUrl) await dropDatabases(adminUrl);
  if (box) rmSync(box, { recursive: true, force: true });
}

async function dropDatabases(admin: string): Promise<void> {
  await withClient(admin, async (client) => {
    const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [prefix]);
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
    await client.query(`DROP ROLE IF EXISTS ${owner.name}`);
  });
}

async function main(): Promise<void> {
  for await (const question of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(question))}\n`);
  }
  await removeAll();
}

// The reader of our responses may no longer exist. This must not prevent the cleanup.
process.stdout.on('error', () => {});
main().then(
  () => process.exit(0),
  async (error) => {
    process.stderr.write(`${error}\n`);
    await removeAll().catch(() => {});
    process.exit(1);
  },
);
