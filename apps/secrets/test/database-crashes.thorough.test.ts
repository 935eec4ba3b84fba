import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { asSuperuser, emptyDatabase, type Flow, flowsOf, type TestDatabase } from '@keystead/testing';
import pg from 'pg';
import { until } from './fresh-storage';
import { Kills } from './kills';
import type { NodeProcess } from './nodes';
import { root, serverAuth } from './stand-ins/authority';
import { MongodbStandIn } from './stand-ins/mongodb';
import { MssqlStandIn } from './stand-ins/mssql';
import {
  connectMariadb,
  connectRedis,
  hasMariadb,
  redisServer,
  startMariadb,
  startRedis,
  TemporaryServer,
} from './temporary-database';

// A node is killed before and after each call and commit of every flow that changes a database. Afterwards every user
// there has a lease, and every shown or used password is valid. Normally two kills for each database, in the long form
// the whole matrix.

interface Target {
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly config: () => object;
  readonly creation: string;
  /** An existing user. */
  readonly kept: string;
  /** The users created from roles. */
  users(): Promise<string[]>;
  /** Whether the user has this password. */
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

class Mongodb implements Target {
  readonly creation = '{"db": "app", "roles": ["read"]}';
  readonly kept = 'kept';
  private readonly server = new MongodbStandIn();

  async start() {
    await this.server.start();
    this.server.users.set('admin.own', { password: 'first', roles: [] });
    this.server.users.set('admin.kept', { password: 'before', roles: [] });
  }
  stop = () => this.server.stop();
  readonly config = () => ({
    plugin_name: 'mongodb-database-plugin',
    connection_url: `mongodb://{{username}}:{{password}}@127.0.0.1:${this.server.port}/admin`,
    username: 'own',
    password: 'first',
  });
  async users() {
    return [...this.server.users.keys()].filter((name) => name.startsWith('app.')).map((name) => name.slice(4));
  }
  async logsIn(user: string, password: string) {
    const found = this.server.users.get(`app.${user}`) ?? this.server.users.get(`admin.${user}`);
    return found?.password === password;
  }
}

class Mssql implements Target {
  readonly creation = "CREATE LOGIN [{{name}}] WITH PASSWORD = '{{password}}'";
  readonly kept = 'kept';
  private readonly authority = root('the company');
  private readonly server: MssqlStandIn;

  constructor() {
    const wanted = { dns: ['localhost'], purposes: [serverAuth], kind: 'RSA' } as const;
    const { pem: cert, keyPem: key } = this.authority.issue('localhost', wanted);
    this.server = new MssqlStandIn({ cert, key });
  }

  async start() {
    await this.server.start();
    for (const [name, password] of [
      ['own', 'first'],
      ['kept', 'before'],
    ] as const)
      this.server.logins.set(name, { password, isDisabled: false, users: new Set() });
  }
  stop = () => this.server.stop();
  readonly config = () => ({
    plugin_name: 'mssql-database-plugin',
    connection_url: `sqlserver://{{username}}:{{password}}@localhost:${this.server.port}`,
    username: 'own',
    password: 'first',
    tls_ca: this.authority.pem,
  });
  async users() {
    return [...this.server.logins.keys()].filter((name) => name !== 'own' && name !== 'kept');
  }
  async logsIn(user: string, password: string) {
    return this.server.logins.get(user)?.password === password;
  }
}

class Redis implements Target {
  readonly creation = '["~app:*", "+get"]';
  readonly kept = 'kept';
  private readonly server = new TemporaryServer();

  async start() {
    await startRedis(this.server);
    await this.ask('ACL', 'SETUSER', 'own', 'ON', '>first', '~*', '+@all');
    await this.ask('ACL', 'SETUSER', 'kept', 'ON', '>before', '~*', '+get');
  }
  stop = () => this.server.stop();
  readonly config = () => ({
    plugin_name: 'redis-database-plugin',
    host: '127.0.0.1',
    port: this.server.port,
    username: 'own',
    password: 'first',
  });
  private async ask(...command: string[]) {
    const admin = await connectRedis(this.server.port);
    const answer = await admin.sendCommand(command);
    admin.destroy();
    return answer;
  }
  async users() {
    return ((await this.ask('ACL', 'USERS')) as unknown as string[]).filter((name) => name.startsWith('V_ROOT_CRASH_'));
  }
  async logsIn(user: string, password: string) {
    try {
      (await connectRedis(this.server.port, user, password)).destroy();
      return true;
    } catch {
      return false;
    }
  }
}

const targets: readonly [string, () => Target, boolean][] = [
  ['PostgreSQL', () => new Postgresql(), true],
  ['MariaDB', () => new Mariadb(), hasMariadb],
  ['MongoDB', () => new Mongodb(), true],
  ['SQL Server', () => new Mssql(), true],
  ['Redis', () => new Redis(), redisServer !== undefined],
];

describe.each(targets.filter(([, , here]) => here))('a node killed between two steps with %s', (_, target) => {
  const there = target();
  const kills = new Kills(/^(commit|database|lease):/);

  beforeAll(async () => {
    await there.start();
    await kills.start();
    await kills.write('sys/mounts/database', { type: 'database' });
    await kills.write('database/config/there', { ...there.config(), allowed_roles: '*' });
    await kills.write('database/roles/crash', { db_name: 'there', creation_statements: [there.creation] });
    await kills.write('database/static-roles/kept', { db_name: 'there', username: there.kept, rotation_period: '24h' });
  });
  afterAll(async () => {
    await kills.end();
    await there.stop();
  });

  const ofLease = (path: string) => async () => {
    const { lease_id } = (await kills.read('database/creds/crash')).body;
    return (node: NodeProcess) => node.ask('POST', path, kills.root, { lease_id, sync: true });
  };
  const writing = (path: string) => async () => (node: NodeProcess) => node.ask('POST', path, kills.root);

  const flows: readonly Flow<NodeProcess>[] = [
    {
      name: 'create',
      prepare: async () => (node) => node.ask('GET', 'database/creds/crash', kills.root),
      sample: 'database:create:done',
    },
    { name: 'renew', prepare: ofLease('sys/leases/renew') },
    { name: 'revoke', prepare: ofLease('sys/leases/revoke') },
    { name: 'rotate-role', prepare: writing('database/rotate-role/kept') },
    { name: 'rotate-root', prepare: writing('database/rotate-root/there'), sample: 'database:setPassword:done' },
  ];

  const shown = async () => (await kills.read('database/static-creds/kept')).body.data.password as string;

  /** Problems after sweeping: users without leases, leases without users, invalid passwords. */
  async function look(): Promise<object> {
    await kills.swept();
    await kills.undone();
    const orphans = (await there.users()).length - (await kills.count("lease WHERE path = 'database/creds/crash/'"));
    const works = await kills.read('database/creds/crash');
    // A rotation of a static role continues after the claim of the dead node has expired; then for a moment the next
    // password is valid, not the shown one.
    const valid = await until(async () => there.logsIn(there.kept, await shown()), 60_000).then(
      () => true,
      () => false,
    );
    await kills.living.goAhead(0);
    await kills.write('sys/leases/revoke-prefix/database/creds', { sync: true });
    return { orphans, works: works.status, valid, ...(works.status === 200 ? {} : works.body) };
  }

  it.each(flowsOf(flows))(
    'during $name leaves no user without a lease, and every password known',
    (flow) => kills.withstands(flow, { orphans: 0, works: 200, valid: true }, look),
    3_600_000,
  );
});
