import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { withClient } from '@keystead/postgres';
import { work } from '../servers/clients';
import { choosePinning, machine, type Pinning, pinProcess } from './machine';
import { aboutPinning, type Ground, onGround, runProgram } from './program';
import { Reader, resident, shown } from './reads';
import { initialised, startAudited } from './secrets-family';
import { ask, times } from './service';
import { lined } from './table';

const usage = `npx tsx bench/src/engine-waits.ts [--only NAME]... [--short]

  --only NAME   only work whose name contains NAME; may be repeated
  --short       a fiftieth of it, to see that everything runs`;

/** A service with its databases, to measure under work. */
interface World {
  readonly url: string;
  readonly postgres: Ground['postgres'];
  readonly headers: Record<string, string>;
  /** The finished share of the work, 0 to 1. */
  readonly share: number;
  write<T>(at: string, body?: object): Promise<T>;
  read<T>(at: string): Promise<T>;
}

/**
 * Prepares work of a service, and returns a function that does the work while reads are measured and returns a short
 * description.
 */
type Work = (setting: World) => Promise<() => Promise<string>>;

const works: Readonly<Record<string, Work>> = {
  'transit: RSA-4096 keys': async (setting) => {
    await setting.write('sys/mounts/transit', { type: 'transit' });
    let count = 0;
    return () => repeated(setting, () => setting.write(`transit/keys/key-${count++}`, { type: 'rsa-4096' }));
  },
  'transit: RSA-4096 signatures': async (setting) => {
    await setting.write('sys/mounts/transit', { type: 'transit' });
    await setting.write('transit/keys/rsa', { type: 'rsa-4096' });
    const input = Buffer.alloc(100, 'x').toString('base64');
    return () => repeated(setting, () => setting.write('transit/sign/rsa', { input }));
  },
  'pki: list of 1,000,000 revoked': longList,
  'database: 10,000 static roles': manyStaticRoles,
};

/** Lets eight callers repeat a call for twenty seconds, and counts refused calls. */
async function repeated({ share }: World, call: () => Promise<unknown>): Promise<string> {
  let [good, bad] = [0, 0];
  const counted = () =>
    call().then(
      () => void good++,
      () => void bad++,
    );
  const { p50Ms, p99Ms } = await work(Array(8).fill(counted), Math.max(1, 20 * share));
  return `${good} by 8 callers, p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms; refused: ${bad}`;
}

/** Rebuilds the CRL. */
async function longList({ url, postgres, headers, share, write }: World): Promise<() => Promise<string>> {
  const count = 1_000_000 * share;
  await write('sys/mounts/pki', { type: 'pki' });
  await write('pki/root/generate/internal', { common_name: 'Bench', key_type: 'ec' });
  await write('pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const { serial_number } = await write<{ serial_number: string }>('pki/issue/any', { common_name: 'a.example.com' });
  await write('pki/revoke', { serial_number });
  await withClient(postgres.url('secrets'), async (client) => {
    // A CRL is built from entry names only, so all entries may have the content of the first.
    await client.query(
      `INSERT INTO entry (mount_id, path, sealed)
       SELECT mount_id, format('revoked/%s %s %s', regexp_replace('01' || md5(n::text), '(..)(?!$)', '\\1:', 'g'),
                               1700000000 + n, split_part(path, ' ', 3)), sealed
         FROM entry, generate_series(1, $1) n WHERE path LIKE 'revoked/%'`,
      [count],
    );
    await client.query('VACUUM ANALYZE entry');
  });
  return async () => {
    const start = performance.now();
    await write('pki/crl/rotate');
    const seconds = (performance.now() - start) / 1000;
    const list = await (await fetch(`${url}/v1/pki/crl`, { headers })).arrayBuffer();
    if (list.byteLength < count * 30) throw new Error(`the list of ${count} has ${list.byteLength} bytes`);
    return `made in ${seconds.toFixed(1)} s, ${(list.byteLength / 2 ** 20).toFixed(1)} MiB`;
  };
}

/**
 * Roles whose passwords are each changed once within their period of 60 to 160 s. PostgreSQL knows the time of the
 * change: it is that of the commit that wrote the user.
 */
async function manyStaticRoles({ postgres, share, write, read }: World): Promise<() => Promise<string>> {
  const count = 10_000 * share;
  const [shortest, spread] = [Math.max(10, 60 * share), Math.max(10, 100 * share)];
  const database = postgres.url('postgres');
  const changes = () =>
    withClient(database, async (client) => {
      const { rows } = await client.query<{ name: string; at: number }>(
        `SELECT rolname AS name, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS at
           FROM pg_authid WHERE rolname LIKE 'static-%'`,
      );
      return rows;
    });
  await withClient(database, (client) =>
    client.query(
      `DO $$ BEGIN FOR n IN 0..${count - 1} LOOP EXECUTE format('CREATE ROLE %I LOGIN', 'static-' || n); END LOOP; END $$`,
    ),
  );
  await write('sys/mounts/database', { type: 'database' });
  await write('database/config/bench', {
    plugin_name: 'postgresql-database-plugin',
    connection_url: database,
    allowed_roles: '*',
    max_open_connections: 16,
  });
  await times(count, (n) =>
    write(`database/static-roles/static-${n}`, {
      db_name: 'bench',
      username: `static-${n}`,
      rotation_period: shortest + (n % spread),
    }),
  );
  const dueAtMs = new Map<string, number>();
  await times(count, async (n) => {
    const name = `static-${n}`;
    const { last_vault_rotation: last, rotation_period: period } = await read<{
      last_vault_rotation: string;
      rotation_period: number;
    }>(`database/static-roles/${name}`);
    dueAtMs.set(name, Date.parse(last) + period * 1000);
  });
  return async () => {
    const late: number[] = [];
    const giveUpAt = Date.now() + (shortest + spread + 60) * 1000;
    while (dueAtMs.size > 0 && Date.now() < giveUpAt) {
      await sleep(5000);
      for (const { name, at } of await changes()) {
        const due = dueAtMs.get(name);
        // If a password was changed before it was due, the change had already happened when the times were read.
        if (due === undefined || at < due) continue;
        late.push((at - due) / 1000);
        dueAtMs.delete(name);
      }
    }
    const missed = late.filter((seconds) => seconds > 5).length + dueAtMs.size;
    return `late by p50 ${shown(late, 0.5)} s, p99 ${shown(late, 0.99)} s, at most ${shown(late, 1)} s; by more than 5 s: ${missed}`;
  };
}

/** A row of the table: reads of a small secret before the work and during it. */
async function waits(
  name: string,
  share: number,
  pinning: Pinning | undefined,
  { folder, postgres, atEnd }: Ground,
): Promise<string[]> {
  process.stderr.write(`${name}\n`);
  pinProcess(pinning?.others, postgres.pid);
  const { url, pid } = await startAudited({ folder, postgres, cores: pinning?.server, atEnd });
  const headers = { 'X-Service-Token': await initialised(url), 'Content-Type': 'application/json' };
  const call = async <T>(method: string, at: string, body?: object): Promise<T> =>
    (await ask<{ data: T } | undefined>(`${url}/v1/${at}`, method, headers, body))?.data as T;
  const setting: World = {
    ...{ url, postgres, headers, share },
    write: (at, body = {}) => call('POST', at, body),
    read: (at) => call('GET', at),
  };
  await setting.write('cubbyhole/one', { value: 'x' });
  const reader = await Reader.start({ url: `${url}/v1/cubbyhole/one`, headers }, atEnd);
  const quiet = await reader.quiet();
  const run = await works[name]!(setting);
  const before = resident(pid);
  const result = run();
  const { times, peakMib } = await reader.during(pid, result);
  const quietThenBusy = [
    shown(quiet, 0.5),
    shown(quiet, 0.99),
    shown(quiet, 1),
    ...[0.5, 0.99, 1].map((at) => shown(times, at)),
  ];
  return [name, ...quietThenBusy, String(before), String(peakMib), await result];
}

const headings = [
  'what',
  'p50 ms',
  'p99 ms',
  'longest',
  'p50 during',
  'p99 during',
  'longest',
  'MiB',
  'at most',
  'work',
];

runProgram(usage, async (args) => {
  const { values } = parseArgs({
    args,
    options: { only: { type: 'string', multiple: true, default: [] }, short: { type: 'boolean', default: false } },
  });
  const isSelected = (name: string) => values.only.length === 0 || values.only.some((part) => name.includes(part));
  // Runs before this program is pinned to some cores.
  const pinning = choosePinning();
  pinProcess(pinning?.others, process.pid);
  const rows: string[][] = [];
  for (const name of Object.keys(works).filter(isSelected)) {
    rows.push(
      await onGround({ track_commit_timestamp: 'on' }, (ground) =>
        waits(name, values.short ? 0.02 : 1, pinning, ground),
      ),
    );
  }
  process.stdout.write(`\n${machine()}; ${aboutPinning(pinning)}\n\n${lined(headings, rows)}\n`);
});
