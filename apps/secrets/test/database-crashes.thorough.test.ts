import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { asSuperuser, emptyDatabase, freshDatabase, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { type Answer, initialise, type NodeProcess, startNode } from './nodes';
import { connectMariadb, hasMariadb, startMariadb, TemporaryServer } from './temporary-database';

// A node is killed at every step of every flow that changes a database: before and after each of its calls and commits.
// Afterwards the users there are those of leases, and every password that is shown or used is the valid one. Two kills of a
// database always, the whole matrix in the long form.

const long = process.env.KEYSTEAD_LONG === '1';
const ofFlows = /^(commit|database|lease):/;
const graceMs = 6 * 60_000;

interface Target {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly config: () => object;
  readonly creation: string;
  /** A user that is there already. */
  readonly kept: string;
  /** The users that were made from roles. */
  users(): Promise<string[]>;
  /** Whether this password is that of the user. */
  logsIn(user: string, password: string): Promise<boolean>;
}

class Postgresql implements Target {
  readonly creation = `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}'`;
  private database!: TestDatabase;
  private admin!: pg.Client;
  private readonly own = `crash_${process.pid}_${Date.now()}`;
  readonly kept = `${this.own}_kept`;

  async start() {
    this.database = await emptyDatabase();
    this.admin = new pg.Client(await asSuperuser(this.database.url));
    this.admin.on('error', () => {});
    await this.admin.connect();
    await this.query(`CREATE ROLE ${this.own} LOGIN CREATEROLE PASSWORD 'first'`);
    await this.query(`CREATE ROLE ${this.kept} LOGIN PASSWORD 'before'`);
    await this.query(`GRANT ${this.kept} TO ${this.own} WITH ADMIN OPTION`);
  }
  async stop() {
    for (const name of await this.users()) await this.query(`DROP ROLE "${name}"`);
    await this.query(`DROP ROLE ${this.kept}`);
    await this.query(`DROP ROLE ${this.own}`);
    await this.admin.end();
    await this.database.drop();
  }
  readonly config = () => ({
    plugin_name: 'postgresql-database-plugin',
    connection_url: `postgresql://{{username}}:{{password}}@${new URL(this.database.url).host}/${this.database.name}`,
    username: this.own,
    password: 'first',
  });
  private query(text: string) {
    return this.admin.query<{ name: string }>(text);
  }
  async users() {
    const { rows } = await this.query(`SELECT rolname AS name FROM pg_roles WHERE rolname LIKE 'v-root-crash-%'`);
    return rows.map(({ name }) => name);
  }
  async logsIn(user: string, password: string) {
    const { hostname: host, port } = new URL(this.database.url);
    const client = new pg.Client({ host, port: Number(port), database: this.database.name, user, password });
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

class Mariadb implements Target {
  readonly creation =
    `CREATE USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'; GRANT SELECT ON mysql.* TO '{{name}}'@'%'`;
  readonly kept = 'kept';
  private readonly server = new TemporaryServer();

  async start() {
    await startMariadb(this.server);
    await this.query("CREATE USER 'own'@'%' IDENTIFIED BY 'first'");
    await this.query("GRANT ALL ON *.* TO 'own'@'%' WITH GRANT OPTION");
    await this.query("CREATE USER 'kept'@'%' IDENTIFIED BY 'before'");
  }
  stop = () => this.server.stop();
  readonly config = () => ({
    plugin_name: 'mysql-database-plugin',
    connection_url: `{{username}}:{{password}}@tcp(127.0.0.1:${this.server.port})/`,
    username: 'own',
    password: 'first',
  });
  private async query(text: string) {
    const admin = await connectMariadb(this.server.port, 'root', '');
    const [rows] = await admin.query(text);
    await admin.end();
    return rows as { User: string }[];
  }
  async users() {
    return (await this.query("SELECT User FROM mysql.user WHERE User LIKE 'v-root-cras-%'")).map(({ User }) => User);
  }
  async logsIn(user: string, password: string) {
    try {
      await (await connectMariadb(this.server.port, user, password)).end();
      return true;
    } catch {
      return false;
    }
  }
}

const targets: readonly [string, () => Target, boolean][] = [
  ['PostgreSQL', () => new Postgresql(), true],
  ['MariaDB', () => new Mariadb(), hasMariadb],
];

describe.each(targets.filter(([, , here]) => here))('a node killed between two steps with %s', (_, target) => {
  const there = target();
  let database: TestDatabase;
  let client: pg.Client;
  let root: string;
  let living: NodeProcess;
  let next: Promise<NodeProcess>;

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    await there.start();
    client = new pg.Client(database.url);
    client.on('error', () => {});
    await client.connect();
    living = await startNode(database.url);
    ({ token: root } = await initialise(living));
    next = startNode(database.url);
    await write('sys/mounts/database', { type: 'database' });
    await write('database/config/there', { ...there.config(), allowed_roles: '*' });
    await write('database/roles/crash', { db_name: 'there', creation_statements: [there.creation] });
    await write('database/static-roles/kept', { db_name: 'there', username: there.kept, rotation_period: '24h' });
  });
  afterAll(async () => {
    await Promise.all([living?.kill(), next?.then((node) => node.kill())]);
    await client?.end();
    await there.stop();
    await database?.drop();
  });

  async function write(path: string, body?: object): Promise<Answer> {
    const answer = await living.ask('POST', path, root, body);
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }
  const leaseOf = async () => (await living.ask('GET', 'database/creds/crash', root)).body.lease_id as string;

  type Ask = (node: NodeProcess) => Promise<Answer>;
  const flows: readonly { name: string; prepare: () => Promise<Ask>; sample?: string }[] = [
    {
      name: 'create',
      prepare: async () => (node) => node.ask('GET', 'database/creds/crash', root),
      sample: 'database:create:done',
    },
    {
      name: 'renew',
      async prepare() {
        const lease_id = await leaseOf();
        return (node) => node.ask('POST', 'sys/leases/renew', root, { lease_id });
      },
    },
    {
      name: 'revoke',
      async prepare() {
        const lease_id = await leaseOf();
        return (node) => node.ask('POST', 'sys/leases/revoke', root, { lease_id, sync: true });
      },
    },
    { name: 'rotate-role', prepare: async () => (node) => node.ask('POST', 'database/rotate-role/kept', root) },
    {
      name: 'rotate-root',
      prepare: async () => (node) => node.ask('POST', 'database/rotate-root/there', root),
      sample: 'database:setPassword:done',
    },
  ];

  const count = async (what: string) => Number((await client.query(`SELECT count(*) FROM ${what}`)).rows[0].count);

  /** What is wrong once all is swept: users without leases, leases without users, passwords that are not valid. */
  async function faults(): Promise<object> {
    const users = (await there.users()).length;
    const leases = await count("lease WHERE path = 'database/creds/crash/'");
    const creds = await living.ask('GET', 'database/static-creds/kept', root);
    const works = await living.ask('GET', 'database/creds/crash', root);
    const valid = await there.logsIn(there.kept, creds.body.data.password);
    return { orphans: users - leases, works: works.status, valid, ...(works.status === 200 ? {} : works.body) };
  }

  async function settle(): Promise<void> {
    await client.query("UPDATE node SET seen_at = seen_at - interval '10 seconds'");
    const open = async () => (await count('intent WHERE owner IS NOT NULL')) + (await count('lease WHERE state > 0'));
    await until(async () => (await open()) === 0, 60_000);
    // A rotation of a static role goes on when the claim of the node that died is over.
    await living.goAhead(graceMs);
    await until(async () => (await count('intent')) === 0, 60_000);
    await until(async () => {
      const { body } = await living.ask('GET', 'database/static-creds/kept', root);
      return there.logsIn(there.kept, body.data.password);
    }, 60_000);
  }

  async function kill(prepare: () => Promise<Ask>, point: string, passes: number): Promise<object> {
    const dying = await next;
    next = startNode(database.url);
    const work = await prepare();
    await dying.dieAt(point, passes);
    expect((await work(dying)).status).toBe(0);
    await dying.ended;
    await settle();
    const found = await faults();
    await living.goAhead(0);
    await write('sys/leases/revoke-prefix/database/creds', { sync: true });
    return found;
  }

  it.each(flows.filter(({ sample }) => long || sample))(
    'during $name leaves no user without a lease, and every password known',
    async ({ prepare, sample }) => {
      const well = { orphans: 0, works: 200, valid: true };
      if (!long) return expect(await kill(prepare, sample!, 0)).toEqual(well);
      const recorder = await next;
      next = startNode(database.url);
      const work = await prepare();
      await recorder.record(true);
      expect((await work(recorder)).status).toBeLessThan(300);
      const steps = (await recorder.record(false)).filter((name) => ofFlows.test(name));
      await recorder.kill();
      await write('sys/leases/revoke-prefix/database/creds', { sync: true });
      expect(steps.length).toBeGreaterThan(2);
      const seen = new Map<string, number>();
      for (const step of steps) {
        const passes = seen.get(step) ?? 0;
        seen.set(step, passes + 1);
        expect([step, passes, await kill(prepare, step, passes)]).toEqual([step, passes, well]);
      }
    },
    3_600_000,
  );
});
