import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findEmbedded, onDatabase, withClient } from '@keystead/postgres';
import { emptyDatabase, freePort, fromSource } from '../../packages/testing/src/index';
import { readLocalConfig } from '../src/config';
import { startOldPostgres } from './old-postgres';
import { type Started, start } from './start';

const box = mkdtempSync(path.join(tmpdir(), 'keystead-local-'));
const programs = path.join(box, 'programs');
mkdirSync(programs);
for (const name of ['secrets.cjs', 'workspaces.cjs']) {
  writeFileSync(path.join(programs, name), `require(${JSON.stringify(path.join(__dirname, 'fake-service.cjs'))});`);
}

/** The result of the first start, for later tests. */
const seed = path.join(box, 'seed');
const copySeed = (to: string) => {
  if (existsSync(seed)) execFileSync('cp', ['-a', seed, to]);
};

const started: Started[] = [];
let dataDir: string;
let ports: number[];
let count = 0;

function run(env: Record<string, string> = {}, args: string[] = []): Started {
  const program = [...fromSource, path.join(__dirname, 'run-with-fakes.ts'), ...args];
  const one = start(program, {
    KEYSTEAD_DATA: dataDir,
    SECRETS_PORT: String(ports[0]),
    WORKSPACES_PORT: String(ports[1]),
    FAKE_PROGRAMS: programs,
    FAKE_STATE: path.join(dataDir, 'fake'),
    ...env,
  });
  started.push(one);
  return one;
}

async function answer(port: number, address: string): Promise<unknown> {
  return (await fetch(`http://127.0.0.1:${port}${address}`)).json();
}

beforeEach(async () => {
  count += 1;
  dataDir = path.join(box, `data-${count}`);
  ports = [await freePort(), await freePort()];
});
afterEach(async () => {
  for (const one of started.splice(0)) {
    one.process.kill('SIGKILL');
    await one.ended;
  }
  await (await findEmbedded(path.join(dataDir, 'postgres')))?.stop({ immediate: true });
});
afterAll(() => rmSync(box, { recursive: true, force: true }));

describe('a first start', () => {
  it('writes the created credentials, shows them once, and finds everything at the next start', async () => {
    const first = run();
    await first.says(/Ctrl-C stops everything/);
    expect(first.output()).toContain('fake-root');
    expect(first.output()).toContain('recovery key 5');
    expect(first.output()).toContain('Warning: root token, recovery keys and seal key');
    expect(first.output()).toMatch(/secrets\.key: if you lose it, you lose every secret/);
    const file = path.join(dataDir, 'first-run.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      secrets: {
        address: `http://127.0.0.1:${ports[0]}`,
        root_token: 'fake-root',
        recovery_keys: ['1', '2', '3', '4', '5'],
      },
      workspaces: {
        address: `http://127.0.0.1:${ports[1]}`,
        username: 'admin',
        password: 'fake-password',
        token: 'fake-token',
      },
    });
    for (const name of ['first-run.json', 'secrets.key', 'workspaces.key', 'secrets.log', 'running.pid']) {
      expect(statSync(path.join(dataDir, name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    first.process.kill('SIGINT');
    expect(await first.ended).toBe(0);
    expect(readFileSync(path.join(dataDir, 'fake-drained'), 'utf8').split('\n').sort().join(' ').trim()).toBe(
      'secrets workspaces',
    );
    expect(existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);

    const second = run();
    await second.says(/Ctrl-C stops everything/);
    expect(second.output()).not.toContain('fake-root');
    second.process.kill('SIGTERM');
    expect(await second.ended).toBe(0);
    renameSync(dataDir, seed);
  });

  it('gives each service its own database, which the other may not enter', async () => {
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    const { database } = (await answer(ports[0]!, '/')) as { database: string };
    const rows = await withClient(database, async (client) => {
      const { rows } = await client.query("SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = 'public'");
      return rows;
    });
    expect(rows[0].tables).toBeGreaterThan(1);
    const other = onDatabase(database, 'workspaces');
    await expect(withClient(other, async () => {})).rejects.toThrow(/permission denied/);
  });
});

describe('a PostgreSQL of the user', () => {
  it('is used instead of the embedded one, its databases created and migrated', async () => {
    const [secrets, workspaces] = await Promise.all([emptyDatabase(), emptyDatabase()]);
    await secrets.drop();
    const program = run({ SECRETS_DATABASE_URL: secrets.url, WORKSPACES_DATABASE_URL: workspaces.url });
    await program.says(/Ctrl-C stops everything/);
    expect(program.output()).toContain('your own PostgreSQL');
    expect(existsSync(path.join(dataDir, 'postgres'))).toBe(false);
    expect(await answer(ports[0]!, '/')).toEqual({ database: secrets.url });
    expect(await answer(ports[1]!, '/')).toEqual({ database: workspaces.url });
    for (const { url } of [secrets, workspaces]) {
      const { rows } = await withClient(url, (client) =>
        client.query('SELECT count(*)::int AS done FROM _prisma_migrations'),
      );
      expect(rows[0].done).toBeGreaterThan(0);
    }
    program.process.kill('SIGINT');
    expect(await program.ended).toBe(0);
    await Promise.all([secrets.drop(), workspaces.drop()]);
  });

  it('may be read from a file, and one address may serve both', () => {
    const file = path.join(box, 'address');
    writeFileSync(file, 'postgresql://u:p@h:1/any?sslmode=require\n');
    const { services } = readLocalConfig({ DATABASE_URL_FILE: file });
    expect(services.secrets.databaseUrl).toBe('postgresql://u:p@h:1/secrets?sslmode=require');
    expect(services.workspaces.databaseUrl).toBe('postgresql://u:p@h:1/workspaces?sslmode=require');
    const own = readLocalConfig({ DATABASE_URL_FILE: file, SECRETS_DATABASE_URL: 'postgresql://x/y' });
    expect(own.services.secrets.databaseUrl).toBe('postgresql://x/y');
  });
});

describe('a running installation', () => {
  beforeEach(() => copySeed(dataDir));

  it('starts a killed service and a killed PostgreSQL again', async () => {
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    const before = await answer(ports[0]!, '/pid');
    process.kill(before as number, 'SIGKILL');
    await program.says(/the secrets service ended \(SIGKILL\) and was started again/);
    expect(await answer(ports[0]!, '/pid')).not.toBe(before);

    const server = (await findEmbedded(path.join(dataDir, 'postgres')))!;
    process.kill(server.pid, 'SIGKILL');
    await program.says(/PostgreSQL ended and was started again/);
    const again = (await findEmbedded(path.join(dataDir, 'postgres')))!;
    expect(again.pid).not.toBe(server.pid);
    expect(again.url('secrets')).toBe(server.url('secrets'));
  });

  it('can be killed, and the next start takes over', async () => {
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    const server = (await findEmbedded(path.join(dataDir, 'postgres')))!;
    // The services of the killed program are still draining when the next start checks their ports.
    program.process.kill('SIGKILL');
    const next = run();
    await next.says(/Ctrl-C stops everything/);
    expect((await findEmbedded(path.join(dataDir, 'postgres')))!.pid).toBe(server.pid);
    next.process.kill('SIGINT');
    expect(await next.ended).toBe(0);
    expect(await findEmbedded(path.join(dataDir, 'postgres'))).toBeUndefined();
  });

  it('stops if its data folder is removed, and creates no new one in its place', async () => {
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    const server = (await findEmbedded(path.join(dataDir, 'postgres')))!;
    rmSync(dataDir, { recursive: true, force: true });
    process.kill(server.pid, 'SIGKILL');
    expect(await program.ended).toBe(1);
    expect(lastLine(program)).toContain(`the database files below ${dataDir} are gone: stopping`);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('allows another installation with its own folder and ports, and refuses a second one in the same folder', async () => {
    const one = run();
    await one.says(/Ctrl-C stops everything/);
    const [a, b] = [await freePort(), await freePort()];
    const intruder = run({ SECRETS_PORT: String(a), WORKSPACES_PORT: String(b) });
    expect(await intruder.ended).toBe(1);
    expect(lastLine(intruder)).toBe(
      `${dataDir} is in use by process ${one.process.pid}: stop it, or set KEYSTEAD_DATA to another folder`,
    );
    const elsewhere = path.join(box, `elsewhere-${count}`);
    copySeed(elsewhere);
    const two = run({
      SECRETS_PORT: String(a),
      WORKSPACES_PORT: String(b),
      KEYSTEAD_DATA: elsewhere,
      FAKE_STATE: path.join(elsewhere, 'fake'),
    });
    await two.says(/Ctrl-C stops everything/);
    two.process.kill('SIGINT');
    expect(await two.ended).toBe(0);
    expect(await answer(ports[0]!, '/livez')).toEqual({});
  });
});

describe('a start that cannot succeed gives the reason in one line', () => {
  it.each<[string, () => Promise<Record<string, string>>, () => RegExp]>([
    [
      'a taken port',
      async () => {
        const taken = createServer();
        await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
        taken.unref();
        return { SECRETS_PORT: String((taken.address() as { port: number }).port) };
      },
      () => /^port \d+ is taken: stop the program that uses it, or set SECRETS_PORT to another port$/,
    ],
    ['a bad port', async () => ({ WORKSPACES_PORT: 'many' }), () => /^WORKSPACES_PORT must be a port from 1 to 65535$/],
    [
      'a folder that cannot be written',
      async () => {
        writeFileSync(path.join(box, 'a-file'), '');
        return { KEYSTEAD_DATA: path.join(box, 'a-file', 'data') };
      },
      () => /a-file\/data cannot be written \(ENOTDIR\): make it writable or set KEYSTEAD_DATA to another folder$/,
    ],
    [
      'an unreachable database',
      async () => ({ DATABASE_URL: 'postgresql://unknown:hidden@127.0.0.1:1/postgres' }),
      () => /^cannot reach PostgreSQL at 127\.0\.0\.1:1\/\w+: .*; check \w+_DATABASE_URL or DATABASE_URL$/,
    ],
    [
      'a database that is too old',
      async () => {
        const old = await startOldPostgres(140012);
        old.unref();
        const url = `postgresql://someone@127.0.0.1:${(old.address() as { port: number }).port}/there`;
        return { SECRETS_DATABASE_URL: url };
      },
      () => /^the secrets database runs on PostgreSQL 14: version 15 or newer is needed$/,
    ],
    [
      'an invalid address',
      async () => ({ SECRETS_DATABASE_URL: 'mysql://x' }),
      () => /^SECRETS_DATABASE_URL is not a postgresql:\/\/ address$/,
    ],
    ['an unknown setting', async () => ({ KEYSTEAD_DATUM: 'x' }), () => /^KEYSTEAD_DATUM is not a known setting/],
    [
      'a service that refuses its settings',
      async () => {
        copySeed(dataDir);
        return { FAKE_BROKEN: 'workspaces' };
      },
      () => /^the workspaces service did not start: WORKSPACES_SOMETHING is not a known setting$/,
    ],
  ])('%s', async (_, prepare, expected) => {
    const program = run(await prepare());
    expect(await program.ended).toBe(1);
    expect(lastLine(program)).toMatch(expected());
    expect(program.output()).not.toContain('hidden');
    expect(await findEmbedded(path.join(dataDir, 'postgres'))).toBeUndefined();
    expect(existsSync(path.join(dataDir, 'running.pid'))).toBe(false);
  });

  it('a seal key is missing although its database exists', async () => {
    copySeed(dataDir);
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    program.process.kill('SIGINT');
    await program.ended;
    rmSync(path.join(dataDir, 'secrets.key'));
    const next = run();
    expect(await next.ended).toBe(1);
    expect(lastLine(next)).toBe(
      `${path.join(dataDir, 'secrets.key')} is missing: put it back, without it the secrets database cannot be read`,
    );
  });

  it('a migration fails', async () => {
    copySeed(dataDir);
    const program = run();
    await program.says(/Ctrl-C stops everything/);
    const { database } = (await answer(ports[0]!, '/')) as { database: string };
    await withClient(database, (client) => client.query("UPDATE _prisma_migrations SET checksum = 'other'"));
    program.process.kill('SIGINT');
    await program.ended;
    const next = run();
    expect(await next.ended).toBe(1);
    expect(lastLine(next)).toMatch(
      /^the secrets database: migration \w+ was edited after it was applied: put the file back/,
    );
  });
});

describe('help', () => {
  it('names every setting and starts nothing', async () => {
    const program = run({}, ['--help']);
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain('KEYSTEAD_DATA');
    expect(program.output()).toContain('SECRETS_A_SETTING');
    expect(program.output()).toContain('WORKSPACES_A_SETTING');
    expect(existsSync(dataDir)).toBe(false);
  });
});

function lastLine(program: Started): string {
  return program.complaints().trim().split('\n').at(-1)!;
}
