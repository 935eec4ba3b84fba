import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { root, serverAuth } from '../../../../test/stand-ins/authority';
import { MssqlStandIn } from '../../../../test/stand-ins/mssql';
import { startSecrets } from '../../../../test/start-secrets';

const ca = root('the company');
const wanted = { dns: ['localhost'], purposes: [serverAuth], kind: 'RSA' } as const;
const { pem: cert, keyPem: key } = ca.issue('localhost', wanted);

describe('the engine database with SQL Server', () => {
  const secrets = startSecrets();
  const server = new MssqlStandIn({ cert, key });
  const config = {
    plugin_name: 'mssql-database-plugin',
    username: 'vault',
    password: "it's/[first]",
    allowed_roles: '*',
    contained_db: false,
    tls_ca: ca.pem,
  };
  const address = (options = '') => `sqlserver://{{username}}:{{password}}@localhost:${server.port}${options}`;
  const configure = (more: object = {}) =>
    secrets.root.write('database/config/ms', { ...config, connection_url: address(), ...more });
  const creation_statements = [
    "CREATE LOGIN [{{name}}] WITH PASSWORD = '{{password}}'; USE [app]; CREATE USER [{{name}}] FOR LOGIN [{{name}}]",
  ];
  const creds = async () => (await secrets.root.read('database/creds/app').expect(200)).body;
  const first = { password: config.password, isDisabled: false, users: new Set<string>() };

  beforeAll(async () => {
    await server.start();
    await secrets.root.write('sys/mounts/database', { type: 'database' }).expect(204);
    await secrets.root.write('database/roles/app', { db_name: 'ms', creation_statements }).expect(204);
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    server.logins.set('vault', { ...first });
    await configure().expect(204);
  });

  it('creates logins and their users over TLS, and drops both', async () => {
    const { data, lease_id } = await creds();
    expect(data.username).toMatch(/^v-root-app-\w{20}-\d+$/);
    expect(server.logins.get(data.username)).toEqual({
      password: data.password,
      isDisabled: false,
      users: new Set(['app']),
    });
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
    expect(server.logins.has(data.username)).toBe(false);
    expect(server.inClear).toEqual([]);
  });

  it('shows the sessions of its users', async () => {
    const { data, lease_id } = await creds();
    const { users } = (await secrets.root.read('database/config/ms/sessions').expect(200)).body.data;
    const session = {
      address: '127.0.0.1',
      application: 'app',
      state: 'sleeping',
      connect_time: '1970-01-01T00:00:00.000Z',
    };
    expect(users).toContainEqual(expect.objectContaining({ username: data.username, lease_id, sessions: [] }));
    expect(users).toContainEqual(
      expect.objectContaining({ username: 'vault', kind: 'root', sessions: [expect.objectContaining(session)] }),
    );
  });

  it('leaves nothing behind when a statement fails', async () => {
    const before = [...server.logins.keys()];
    const failing = [...creation_statements, 'GRANT nonsense'];
    await secrets.root.write('database/roles/failing', { db_name: 'ms', creation_statements: failing }).expect(204);
    await secrets.root.read('database/creds/failing').expect(502, /Incorrect syntax near 'GRANT nonsense'/);
    expect([...server.logins.keys()]).toEqual(before);
  });

  it('keeps committed changes if the connection is lost afterwards', async () => {
    server.endsOnReset = true;
    const { data } = await creds();
    server.endsOnReset = false;
    expect(server.logins.has(data.username)).toBe(true);
  });

  it('tests a role without leaving anything behind', async () => {
    const before = [...server.logins.keys()];
    const { body } = await secrets.root.write('database/roles/app/dry-run', {}).expect(200);
    expect(body.data.rehearsed).toBe(true);
    expect(server.batches.at(-1)).toBe('ROLLBACK TRANSACTION');
    expect([...server.logins.keys()]).toEqual(before);
  });

  it('changes passwords, also of the configured login', async () => {
    const { data } = await creds();
    await secrets.root
      .write('database/static-roles/static', { db_name: 'ms', username: data.username, rotation_period: 60 })
      .expect(204);
    const { password } = (await secrets.root.read('database/static-creds/static').expect(200)).body.data;
    expect(password).not.toBe(data.password);
    expect(server.logins.get(data.username)?.password).toBe(password);
    await secrets.root.write('database/rotate-root/ms').expect(204);
    expect(server.logins.get('vault')?.password).not.toBe(config.password);
    await creds();
  });

  it('names the users of a contained database', async () => {
    await configure({ contained_db: true }).expect(204);
    const { data, lease_id } = await creds();
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
    expect(server.batches.at(-1)).toBe(`DROP USER IF EXISTS [${data.username}]`);
  });

  it('escapes brackets and quotes in names', async () => {
    const username = "it's]kept";
    server.logins.set(username, { ...first });
    const role = { db_name: 'ms', username, rotation_period: 60 };
    await secrets.root.write('database/static-roles/odd', role).expect(204);
    const { password } = (await secrets.root.read('database/static-creds/odd').expect(200)).body.data;
    expect(server.logins.get(username)?.password).toBe(password);
    expect(server.batches).toContain(`ALTER LOGIN [it's]]kept] WITH PASSWORD = '${password}'`);
  });

  it.each([
    ['the default', '', {}],
    ['TLS that does not verify', '?encrypt=true&TrustServerCertificate=true', { tls_ca: '' }],
  ])('sends no password to a server that says it has no TLS: %s', async (_what, options, more) => {
    server.offersTls = false;
    await configure({ connection_url: address(options), ...more }).expect(400, /the database does not offer TLS/);
    server.offersTls = true;
    expect(server.inClear.splice(0)).toEqual([]);
  });

  it('works without TLS if configured', async () => {
    server.offersTls = false;
    await configure({ connection_url: address('?encrypt=disable') }).expect(204);
    server.offersTls = true;
    expect(server.inClear.splice(0)).toEqual(['vault']);
  });

  it('verifies the certificate', async () => {
    await configure({ tls_ca: '' }).expect(400, /error verifying connection: .*certificate/);
    await configure({ tls_server_name: 'another.test' }).expect(400, /error verifying connection: .*another\.test/);
    await configure({ tls_ca: '', tls_skip_verify: true }).expect(204);
  });

  it('follows no redirect of the server', async () => {
    const other = new MssqlStandIn({ cert, key });
    await other.start();
    server.sendsTo = { host: 'localhost', port: other.port };
    await configure().expect(400, /redirects clients to another server/);
    server.sendsTo = undefined;
    expect(other.sessions.size).toBe(0);
    await other.stop();
  });

  it.each([
    ['an instance', '/SQLEXPRESS', /must contain a port, not an instance/],
    ['an unknown encryption mode', '?encrypt=false', /encrypt must be true, strict or disable/],
    ['unverified certificates in strict mode', '?encrypt=strict&TrustServerCertificate=true', /always verifies/],
  ])('refuses %s', async (_what, options, text) => {
    await configure({ connection_url: address(options), verify_connection: false }).expect(400, text);
  });

  it('refuses an address of a cloud, and a wrong password', async () => {
    const connection_url = 'sqlserver://a:b@169.254.169.254:1433';
    await configure({ connection_url, verify_connection: false }).expect(400, /169\.254\.169\.254 may not be called/);
    await configure({ password: 'wrong' }).expect(400, /Login failed for user 'vault'/);
  });

  it('distinguishes a server that is down from one that refuses', async () => {
    await server.stop();
    await secrets.root.read('database/creds/app').expect(502, /the database is unreachable/);
  });
});
