import type { Socket } from 'node:net';
import { DatabaseUnreachable, isPooledByTransaction, withClient } from '@keystead/postgres';
import type pg from 'pg';
import { migrationNames, type ServiceName } from '../backup/service-database';
import type { Findings } from './finding';
import { ofService } from './rows';

const OLDEST = 150_000;
/**
 * Tolerated clock difference in seconds between this machine and the database: beyond it, signed tokens and codes fail.
 */
const APART = { warning: 5, critical: 60 };

/** Checks the database of a service, read-only. */
export async function checkDatabase(url: string, service: ServiceName, findings: Findings): Promise<void> {
  try {
    await withClient(url, async (client) => {
      await client.query('SET default_transaction_read_only = on');
      await checkPooling(url, client, findings);
      await checkServer(client, findings);
      await checkSchema(client, service, findings);
      for (const question of ofService(service)) {
        await runCheck(findings, question.about, async () => {
          const { rows } = await client.query<{ count: string }>(question.count);
          const count = Number(rows[0]?.count ?? 0);
          findings.check(question.severity, count > 0, question.fine, question.what(count), question.next);
        });
      }
    });
  } catch (error) {
    if (!(error instanceof DatabaseUnreachable)) throw error;
    findings.add('critical', error.message, 'start it, or correct its address');
  }
}

/** Reports the tables that the database user may not read, and continues. */
async function runCheck(findings: Findings, what: string, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string };
    if (!/^[0-9A-Z]{5}$/.test(code)) throw error;
    findings.add(
      'unchecked',
      `${what}: ${message}`,
      'use the database user of the service, with all migrations applied',
    );
  }
}

/** A pool in transaction mode breaks our locks, notices and prepared statements. */
async function checkPooling(url: string, client: pg.Client, findings: Findings): Promise<void> {
  await runCheck(findings, 'what is in front of it', async () => {
    findings.check(
      'critical',
      await isPooledByTransaction(url),
      'no pool in transaction mode in front of it',
      'two connections share one connection to the server: a pool in transaction mode is in front of it (PgBouncer)',
      'connect to the server itself, or to a pool in session mode',
    );
    const { rows } = await client.query(
      'SELECT client_port AS port FROM pg_stat_activity WHERE pid = pg_backend_pid()',
    );
    const local = (client as unknown as { connection?: { stream?: Socket } }).connection?.stream?.localPort;
    const isProxied = local !== undefined && rows[0]?.port > 0 && rows[0].port !== local;
    findings.check(
      'notice',
      isProxied,
      'connected directly',
      'a proxy or pool is in front of it',
      'make sure that it is in session mode, and that it closes connections to a server that is no longer the primary',
    );
  });
}

async function checkServer(client: pg.Client, findings: Findings): Promise<void> {
  const { rows } = await client.query(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
            current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
            current_setting('full_page_writes') AS full_page_writes, current_setting('max_connections')::int AS most,
            current_setting('archive_mode') AS archive_mode, pg_is_in_recovery() AS standby,
            (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
            (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
            extract(epoch FROM clock_timestamp())::float8 AS now`,
  );
  const server = rows[0] as Record<string, string> & { number: number; most: number; used: number; now: number };
  const seconds = Math.abs(Date.now() / 1000 - server.now);
  const need = 'PostgreSQL 15 or newer is needed';
  findings.check(
    'critical',
    server.number < OLDEST,
    `PostgreSQL ${server.version}`,
    `it is PostgreSQL ${server.version}`,
    need,
  );
  const isStandby = Boolean(server.standby);
  findings.check('critical', isStandby, 'takes writes', 'it is a standby, which accepts no writes', 'name the primary');
  findings.check(
    seconds > APART.critical ? 'critical' : 'warning',
    seconds > APART.warning,
    'its clock agrees with this machine',
    `its clock and that of this machine are ${Math.round(seconds)} s apart`,
    'let both use the same time servers: codes of second factors and signed tokens depend on the clock',
  );
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    const next = `set ${name} = on: otherwise acknowledged writes may be lost when the machine fails`;
    findings.check('critical', server[name] === 'off', `${name} is ${server[name]}`, `${name} is off`, next);
  }
  findings.check(
    'warning',
    server.used > server.most * 0.8,
    `${server.used} of ${server.most} connections used`,
    `${server.used} of ${server.most} connections are used`,
    'raise max_connections, or lower …_DATABASE_CONNECTIONS: each process uses that many',
  );
  findings.check(
    'warning',
    server.archive_mode === 'off' && Number(server.standbys) === 0,
    'it is archived or has a standby',
    'nothing shows that it is backed up: no archive, no standby',
    'run keystead backup create regularly; keep backups elsewhere, apart from the seal key (docs/guides/backup.md)',
  );
}

async function checkSchema(client: pg.Client, service: ServiceName, findings: Findings): Promise<void> {
  await runCheck(findings, 'its tables', async () => {
    const ownNames = new Set(migrationNames(service));
    const { rows } = await client.query<{ name: string }>(
      'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL',
    );
    const applied = new Set(rows.map(({ name }) => name));
    const newer = [...applied].filter((name) => !ownNames.has(name));
    const missing = [...ownNames].filter((name) => !applied.has(name));
    findings.check(
      'critical',
      newer.length > 0,
      'its tables are not newer than this program',
      `its tables belong to a newer version: ${newer.join(', ')}`,
      'start the newer version, and use its program',
    );
    findings.check(
      'critical',
      missing.length > 0,
      'its tables are of this version',
      `its tables are older: ${missing.length} migrations are missing`,
      'run the command migrate of the service, or let it start with …_MIGRATE=on',
    );
  });
}
