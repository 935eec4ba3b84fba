import { randomBytes } from 'node:crypto';
import http from 'node:http';
import pg from 'pg';
import { BROKER_VARIABLE, type Failed, ownersUrl, type Ready, type Service } from './broker';

/** A database of one test file. */
export interface TestDatabase {
  /** The connection string as the owner, who is not a superuser; through the server's socket, if it has one. */
  url: string;
  name: string;
  /**
   * Removes the database and closes its connections. Databases that a test forgets are removed at the end of the run.
   */
  drop(): Promise<void>;
}

/** The PostgreSQL of this test run; its files and log are absent when the run was pointed at a server. */
export interface TestServer {
  /** Connection string of the maintenance database, as superuser. */
  adminUrl: string;
  dataDir?: string;
  logFile?: string;
}

/**
 * Clones the migrated template database of a service; takes about 30 ms. Then it runs the statements in
 * `KEYSTEAD_TEST_SQL_SECRETS` or `KEYSTEAD_TEST_SQL_WORKSPACES`, to test with another physical table layout.
 */
export async function freshDatabase(service: Service): Promise<TestDatabase> {
  const ready = await ask(service);
  const { adminUrl, template, prefix, owner } = ready;
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await admin(adminUrl, `CREATE DATABASE "${name}" OWNER ${owner.name} TEMPLATE "${template}" STRATEGY FILE_COPY`);
  const fresh = database(ready, name);
  const more = process.env[`KEYSTEAD_TEST_SQL_${service.toUpperCase()}`];
  if (more) await admin(await asSuperuser(fresh.url), more);
  return fresh;
}

/** An empty database without any table. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const ready = await ask('server');
  const { adminUrl, prefix, owner } = ready;
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await admin(adminUrl, `CREATE DATABASE "${name}" OWNER ${owner.name} TEMPLATE template0 ENCODING 'UTF8'`);
  return database(ready, name);
}

/** The connection string of the same test database as superuser, for actions that services may not do. */
export async function asSuperuser(databaseUrl: string): Promise<string> {
  const url = new URL((await ask('server')).adminUrl);
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}

/** The server of this run, started at the first call. */
export async function testServer(): Promise<TestServer> {
  const { adminUrl, dataDir, logFile } = await ask('server');
  return { adminUrl, dataDir, logFile };
}

function database(ready: Ready, name: string): TestDatabase {
  return {
    url: ownersUrl(ready, name),
    name,
    drop: () => admin(ready.adminUrl, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`),
  };
}

async function ask(question: Service | 'server'): Promise<Ready> {
  const broker = process.env[BROKER_VARIABLE];
  if (!broker) throw new Error('no test server: run the tests through Jest with the preset of this repository');
  const state = JSON.parse(await get(`${broker}/${question}`)) as Ready | Failed;
  if ('error' in state) throw new Error(state.error);
  return state;
}

/** Not `fetch`, which has a time limit: on a busy machine the first answer waits for a server to start. */
function get(address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    http
      .get(address, { agent: false }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          body += chunk;
        });
        response.on('end', () => resolve(body));
        response.on('error', reject);
      })
      .on('error', reject);
  });
}

async function admin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
