import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from '@redis/client';
import { until } from '../../../test/fresh-storage';
import { startSecrets } from '../../../test/start-secrets';
import {
  connectMariadb,
  hasMariadb,
  redisServer,
  startMariadb,
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

  it('makes users, and ends them with their sessions', async () => {
    const { body } = await secrets.root.read('database/creds/app').expect(200);
    const { username, password } = body.data;
    expect(username).toMatch(/^v-root-app-\w{20}$/);
    const client = await connect(username, password);
    client.on('error', () => {});
    await client.query('USE app');
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(204);
    expect(await logsIn(username, password)).toBe(false);
    await expect(client.query('SELECT 1')).rejects.toThrow();
  });

  it('leaves no user behind where a statement fails, though each commits itself', async () => {
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

  it('replaces connections that are old', async () => {
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
  const connect = async (username?: string, password?: string) => {
    const client = createClient({
      username,
      password,
      socket: { host: '127.0.0.1', port: server.port, reconnectStrategy: false },
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const logsIn = (username: string, password: string) =>
    connect(username, password).then(
      (client) => {
        client.destroy();
        return true;
      },
      () => false,
    );

  beforeAll(async () => {
    const args = (folder: string, port: number) => [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
    ];
    await server.start(redisServer!, args, async () => (await connect()).destroy());
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

  it('makes users with the rules of a role, and ends them with their connections', async () => {
    const creation_statements = '["~app:*", "+get", "+ping"]';
    await secrets.root.write('database/roles/app', { db_name: 're', creation_statements }).expect(204);
    const { body } = await secrets.root.read('database/creds/app').expect(200);
    const { username, password } = body.data;
    expect(username).toMatch(/^V_ROOT_APP_[0-9A-Z]{20}_\d+$/);
    const client = await connect(username, password);
    expect(await client.get('app:1')).toBeNull();
    await expect(client.get('other')).rejects.toThrow(/NOPERM/);
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

  it('changes passwords, also of the configured user, and connects again after it was restarted', async () => {
    await secrets.root.write('database/rotate-root/re').expect(204);
    expect(await logsIn('vault', 'first')).toBe(false);
    await secrets.root.write('database/roles/plain', { db_name: 're' }).expect(204);
    const { username, password } = (await secrets.root.read('database/creds/plain').expect(200)).body.data;
    expect(await logsIn(username, password)).toBe(true);
  });
});
