import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { until } from '../../../test/fresh-storage';
import { MongodbStandIn } from '../../../test/stand-ins/mongodb';
import { startSecrets } from '../../../test/start-secrets';
import {
  connectMariadb,
  connectRedis,
  ferretdb,
  hasMariadb,
  redisServer,
  startMariadb,
  startRedis,
  TemporaryServer,
} from '../../../test/temporary-database';

(hasMariadb ? describe : describe.skip)('the engine database with MariaDB', () => {
  const secrets = startSecrets();
  const server = new TemporaryServer();
  const connect = (user: string, password: string) => connectMariadb(server.port, user, password);
  const logsIn = async (user: string, password: string) => {
    try {
      await (await connect(user, password)).end();
      return true;
    } catch {
      return false;
    }
  };

  beforeAll(async () => {
    await startMariadb(server);
    const admin = await connect('root', '');
    await admin.query("CREATE USER 'vault'@'%' IDENTIFIED BY 'it''s'");
    await admin.query("GRANT ALL ON *.* TO 'vault'@'%' WITH GRANT OPTION");
    await admin.query('CREATE DATABASE app');
    await admin.query("CREATE USER 'kept'@'%' IDENTIFIED BY 'before'");
    await admin.end();
    await secrets.root.write('sys/mounts/database', { type: 'database' }).expect(204);
    await secrets.root
      .write('database/config/my', {
        plugin_name: 'mysql-database-plugin',
        connection_url: `{{username}}:{{password}}@tcp(127.0.0.1:${server.port})/`,
        username: 'vault',
        password: "it's",
        allowed_roles: ['app', 'kept'],
      })
      .expect(204);
    const creation_statements = [
      "CREATE USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'; GRANT SELECT ON app.* TO '{{name}}'@'%'",
    ];
    await secrets.root.write('database/roles/app', { db_name: 'my', creation_statements }).expect(204);
  });
  afterAll(() => server.stop());

  it('creates users, and drops them with their sessions', async () => {
    const { body } = await secrets.root.read('database/creds/app').expect(200);
    const { username, password } = body.data;
    expect(username).toMatch(/^v-root-app-\w{20}$/);
    const client = await connect(username, password);
    client.on('error', () => {});
    await client.query('USE app');
    const { users } = (await secrets.root.read('database/config/my/sessions').expect(200)).body.data;
    expect(users).toContainEqual(
      expect.objectContaining({
        username,
        lease_id: body.lease_id,
        sessions: [
          expect.objectContaining({ address: expect.stringMatching(/^(localhost|127\.0\.0\.1)$/), state: 'Sleep' }),
        ],
      }),
    );
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect(await logsIn(username, password)).toBe(false);
    await expect(client.query('SELECT 1')).rejects.toThrow();
  });

  it('leaves no user behind when a statement fails, although each commits by itself', async () => {
    const creation_statements = [
      "CREATE USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'",
      'SELECT * FROM app.nothing',
    ];
    await secrets.root.write('database/roles/app', { creation_statements }).expect(204);
    await secrets.root.read('database/creds/app').expect(502, /nothing' doesn't exist/);
    const admin = await connect('root', '');
    const [rows] = await admin.query("SELECT user FROM mysql.user WHERE user LIKE 'v-%'");
    await admin.end();
    expect(rows).toEqual([]);
    expect((await secrets.root.write('database/roles/app/dry-run').expect(200)).body.data.rehearsed).toBe(false);
  });

  it('replaces old connections', async () => {
    await secrets.root.write('database/config/my', { max_connection_lifetime: '1s' }).expect(204);
    const creation_statements = ["CREATE USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'"];
    await secrets.root.write('database/roles/app', { creation_statements }).expect(204);
    const admin = await connect('root', '');
    const ids = async () => {
      await secrets.root.read('database/creds/app').expect(200);
      const [rows] = await admin.query("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'vault'");
      return JSON.stringify(rows);
    };
    const before = await ids();
    await until(async () => (await ids()) !== before);
    await admin.end();
  });

  it('changes passwords, also of the configured user', async () => {
    await secrets.root
      .write('database/static-roles/kept', { db_name: 'my', username: 'kept', rotation_period: 60 })
      .expect(204);
    const { password } = (await secrets.root.read('database/static-creds/kept').expect(200)).body.data;
    expect(await logsIn('kept', password)).toBe(true);
    await secrets.root.write('database/rotate-root/my').expect(204);
    expect(await logsIn('vault', "it's")).toBe(false);
    await secrets.root.write('database/rotate-role/kept').expect(204);
    expect(await logsIn('kept', password)).toBe(false);
  });
});

(redisServer ? describe : describe.skip)('the engine database with Redis', () => {
  const secrets = startSecrets();
  const server = new TemporaryServer();
  const connect = (username?: string, password?: string) => connectRedis(server.port, username, password);
  const logsIn = (username: string, password: string) =>
    connect(username, password).then(
      (client) => {
        client.destroy();
        return true;
      },
      () => false,
    );

  beforeAll(async () => {
    await startRedis(server);
    const admin = await connect();
    await admin.sendCommand(['ACL', 'SETUSER', 'vault', 'ON', '>first', '~*', '+@all']);
    admin.destroy();
    await secrets.root.write('sys/mounts/database', { type: 'database' }).expect(204);
    await secrets.root
      .write('database/config/re', {
        plugin_name: 'redis-database-plugin',
        host: '127.0.0.1',
        port: server.port,
        username: 'vault',
        password: 'first',
        allowed_roles: '*',
      })
      .expect(204);
  });
  afterAll(() => server.stop());

  it('creates users with the rules of a role, and deletes them with their connections', async () => {
    const creation_statements = '["~app:*", "+get", "+ping"]';
    await secrets.root.write('database/roles/app', { db_name: 're', creation_statements }).expect(204);
    const { body } = await secrets.root.read('database/creds/app').expect(200);
    const { username, password } = body.data;
    expect(username).toMatch(/^V_ROOT_APP_[0-9A-Z]{20}_\d+$/);
    const client = await connect(username, password);
    expect(await client.get('app:1')).toBeNull();
    await expect(client.get('other')).rejects.toThrow(/NOPERM/);
    const { users } = (await secrets.root.read('database/config/re/sessions').expect(200)).body.data;
    expect(users).toContainEqual(
      expect.objectContaining({
        username,
        kind: 'dynamic',
        sessions: [expect.objectContaining({ address: '127.0.0.1', connect_time: expect.stringMatching(/^20\d\d-/) })],
      }),
    );
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    await until(() => !client.isReady);
    expect(await logsIn(username, password)).toBe(false);
  });

  it.each([['nopass'], ['>other'], ['resetpass'], ['off']])(
    'lets no role change how a user logs in: %s',
    async (rule) => {
      await secrets.root
        .write('database/roles/bad', { db_name: 're', creation_statements: JSON.stringify([rule]) })
        .expect(204);
      await secrets.root.read('database/creds/bad').expect(400, /cannot have the rule/);
    },
  );

  it('creates a user although the connection is closed at the same time', async () => {
    await secrets.root.write('database/roles/plain', { db_name: 're' }).expect(204);
    await secrets.root.read('database/creds/plain').expect(200);
    const admin = await connect();
    await admin.sendCommand(['CLIENT', 'PAUSE', '1500', 'ALL']);
    const making = secrets.root.read('database/creds/plain').then((answer) => answer);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await secrets.root.write('database/reset/re').expect(204);
    admin.destroy();
    const { username, password } = (await making).body.data;
    expect(await logsIn(username, password)).toBe(true);
  });

  it.each(['max_idle_connections', 'max_connection_lifetime'])('has no %s', async (field) => {
    await secrets.root.write('database/config/re', { [field]: 1 }).expect(400, new RegExp(`${field} is not supported`));
  });

  it('changes passwords, also of the configured user, and connects again after it was restarted', async () => {
    await secrets.root.write('database/rotate-root/re').expect(204);
    expect(await logsIn('vault', 'first')).toBe(false);
    await secrets.root.write('database/roles/plain', { db_name: 're' }).expect(204);
    const { username, password } = (await secrets.root.read('database/creds/plain').expect(200)).body.data;
    expect(await logsIn(username, password)).toBe(true);
  });
});

describe.each([
  ['a server that speaks its protocol', undefined],
  ['FerretDB', ferretdb],
])('the engine database with MongoDB: %s', (_title, program) => {
  const secrets = startSecrets();
  const standIn = new MongodbStandIn();
  const other = new MongodbStandIn();
  const server = new TemporaryServer();
  const isHere = _title !== 'FerretDB' || program !== undefined;
  const urlOf = (ports: readonly number[]) =>
    `mongodb://{{username}}:{{password}}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/admin`;
  let port = 0;
  const roles = program ? [] : ['readWrite', { role: 'read', db: 'other' }];

  const connect = async (username: string, password: string, authSource = 'admin') => {
    const options = { auth: { username, password }, authSource, serverSelectionTimeoutMS: 3000 };
    const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, options);
    try {
      await client.db('admin').command({ connectionStatus: 1 });
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  };
  const logsIn = (username: string, password: string, source?: string) =>
    connect(username, password, source).then(
      async (client) => {
        await client.close();
        return true;
      },
      () => false,
    );

  beforeAll(async () => {
    if (!isHere) return;
    if (program) {
      const args = (folder: string, at: number) => [
        ...[
          `--listen-addr=127.0.0.1:${at}`,
          '--handler=sqlite',
          `--sqlite-url=file:${folder}/`,
          `--state-dir=${folder}`,
        ],
        ...['--debug-addr=-', '--telemetry=disable', '--test-enable-new-auth', '--setup-database=admin'],
        ...['--setup-username=vault', '--setup-password=it@s/first'],
      ];
      await server.start(program, args, async () => {
        port = server.port;
        await (await connect('vault', 'it@s/first')).close();
      });
    } else {
      await standIn.start();
      standIn.users.set('admin.vault', { password: 'it@s/first', roles: [] });
      port = standIn.port;
    }
    await secrets.root.write('sys/mounts/database', { type: 'database' }).expect(204);
    const config = { plugin_name: 'mongodb-database-plugin', username: 'vault', allowed_roles: '*' };
    await secrets.root
      .write('database/config/mo', { ...config, connection_url: urlOf([port]), password: 'wrong' })
      .expect(400, /error verifying connection: .*[Aa]uthentication failed/);
    await secrets.root
      .write('database/config/mo', { ...config, connection_url: urlOf([port]), password: 'it@s/first' })
      .expect(204);
  });
  afterAll(async () => {
    await server.stop();
    if (!program && isHere) await standIn.stop();
  });

  const when = isHere ? it : it.skip;

  when('creates users in the database that a role names, and deletes them there', async () => {
    const creation_statements = JSON.stringify({ db: 'app', roles });
    await secrets.root.write('database/roles/app', { db_name: 'mo', creation_statements }).expect(204);
    const { body } = await secrets.root.read('database/creds/app').expect(200);
    const { username, password } = body.data;
    expect(username).toMatch(/^v-root-app-\w{20}-\d+$/);
    expect(await logsIn(username, password, 'app')).toBe(true);
    if (!program) {
      const client = await connect(username, password, 'app');
      const { users } = (await secrets.root.read('database/config/mo/sessions').expect(200)).body.data;
      const session = { address: '127.0.0.1', state: 'idle', connect_time: null };
      const sessions = expect.arrayContaining([expect.objectContaining(session)]);
      expect(users).toContainEqual(expect.objectContaining({ username, lease_id: body.lease_id, sessions }));
      expect(users).toContainEqual(expect.objectContaining({ username: 'vault', kind: 'root', sessions }));
      await client.close();
    }
    expect(await logsIn(username, password)).toBe(false);
    if (!program) expect(standIn.users.get(`app.${username}`)?.roles).toEqual(roles);
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect(await logsIn(username, password, 'app')).toBe(false);
  });

  when('changes passwords, also of the configured user', async () => {
    const creation_statements = JSON.stringify({ roles: [] });
    await secrets.root.write('database/roles/kept', { db_name: 'mo', creation_statements }).expect(204);
    const { username } = (await secrets.root.read('database/creds/kept').expect(200)).body.data;
    await secrets.root
      .write('database/static-roles/static', { db_name: 'mo', username, rotation_period: 60 })
      .expect(204);
    const { password } = (await secrets.root.read('database/static-creds/static').expect(200)).body.data;
    expect(await logsIn(username, password)).toBe(true);
    await secrets.root.write('database/rotate-root/mo').expect(204);
    expect(await logsIn('vault', 'it@s/first')).toBe(false);
    await secrets.root.write('database/rotate-role/static').expect(204);
    expect(await logsIn(username, password)).toBe(false);
  });

  if (!program && isHere) {
    it.each([
      ['{"db": "app"}', 400, /must be a JSON object with db and roles/],
      ['{"roles": [], "pwd": "mine"}', 400, /must be a JSON object with db and roles/],
      ['not JSON', 400, /must be a JSON object/],
    ])('refuses the statement %s', async (creation_statements, status, text) => {
      await secrets.root.write('database/roles/bad', { db_name: 'mo', creation_statements }).expect(204);
      await secrets.root.read('database/creds/bad').expect(status, text);
    });

    it.each([
      ['an option that reads files', 'mongodb://a:b@127.0.0.1/?tlsCAFile=/etc/passwd', /tlsCAFile is not supported/],
      [
        'another login mechanism',
        'mongodb://a:b@127.0.0.1/?authMechanism=MONGODB-AWS',
        /authMechanism has no such value/,
      ],
      ['a mongodb+srv address', 'mongodb+srv://a:b@db.test/', /mongodb\+srv is not supported/],
      ['a metadata address', 'mongodb://a:b@127.0.0.1,169.254.169.254/', /169\.254\.169\.254 may not be called/],
      ['no address', 'postgres://a:b@127.0.0.1/', /not a valid URL/],
    ])('refuses %s', async (_what, connection_url, text) => {
      const config = { plugin_name: 'mongodb-database-plugin', username: 'u', password: 'p', connection_url };
      await secrets.root.write('database/config/bad', { ...config, verify_connection: false }).expect(400, text);
    });

    it('sends no password without TLS if the name in its certificate is configured', async () => {
      const { password } = standIn.users.get('admin.vault')!;
      const config = {
        plugin_name: 'mongodb-database-plugin',
        username: 'vault',
        password,
        tls_server_name: 'db.test',
      };
      await secrets.root
        .write('database/config/tls', { ...config, connection_url: urlOf([port]) })
        .expect(400, /error verifying connection/);
    });

    it('creates a user although the connection is changed at the same time', async () => {
      let goOn = () => {};
      standIn.hold = new Promise<void>((resolve) => (goOn = resolve));
      const before = standIn.users.size;
      const making = secrets.root.read('database/creds/kept').then((answer) => answer);
      await until(async () => standIn.users.size > before);
      await secrets.root.write('database/reset/mo').expect(204);
      goOn();
      standIn.hold = undefined;
      const { status, body } = await making;
      expect([status, body.errors]).toEqual([200, undefined]);
      expect(standIn.users.has(`admin.${body.data.username}`)).toBe(true);
    });

    it('sends the write concern, and follows the primary from host to host', async () => {
      await other.start();
      for (const [name, user] of standIn.users) other.users.set(name, { ...user });
      standIn.isPrimary = false;
      const write_concern = '{"w": "majority", "wtimeout": 5000}';
      const connection_url = urlOf([standIn.port, other.port]);
      const { password } = standIn.users.get('admin.vault')!;
      await secrets.root.write('database/config/mo', { connection_url, password, write_concern }).expect(204);
      const { username } = (await secrets.root.read('database/creds/kept').expect(200)).body.data;
      expect(other.users.has(`admin.${username}`)).toBe(true);
      expect(other.changes.at(-1)?.writeConcern).toEqual({ w: 'majority', wtimeout: 5000 });
      standIn.isPrimary = true;
      await other.stop();
      const next = (await secrets.root.read('database/creds/kept').expect(200)).body.data;
      expect(standIn.users.has(`admin.${next.username}`)).toBe(true);
    });

    it('distinguishes a server that is down from one that refuses', async () => {
      await standIn.stop();
      await secrets.root.read('database/creds/kept').expect(502, /the database is unreachable/);
    });
  }
});
