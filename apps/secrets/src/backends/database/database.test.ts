import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseProxy, emptyDatabase, manualClock, type TestDatabase, testServer } from '@keystead/testing';
import pg from 'pg';
import { until } from '../../../test/fresh-storage';
import { withSecondNode } from '../../../test/second-node';
import { startSecrets } from '../../../test/start-secrets';

const creation = [
  `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'; GRANT SELECT ON things TO "{{name}}"`,
];
let made = 0;

describe('the engine database with PostgreSQL', () => {
  const clock = manualClock(Date.now());
  /** Callbacks for named fault points of the service. */
  const places = new Map<string, () => Promise<unknown>>();
  const secrets = startSecrets({
    clock,
    fault: (name) =>
      places
        .get(name)?.()
        .then(() => {}),
  });
  const manager = `manager_${randomBytes(4).toString('hex')}`;
  const managerPassword = `first'"\\:@/${manager}`;
  let database: TestDatabase;
  let admin: pg.Client;
  let at: string;

  const connect = async (user: string, password: string) => {
    const url = new URL(database.url);
    const client = new pg.Client({
      host: url.hostname,
      port: Number(url.port),
      database: database.name,
      user,
      password,
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const logsIn = async (user: string, password: string) => {
    try {
      await (await connect(user, password)).end();
      return true;
    } catch {
      return false;
    }
  };
  const exists = async (user: string) =>
    (await admin.query('SELECT FROM pg_roles WHERE rolname = $1', [user])).rowCount;
  const address = (host = new URL(database.url).host) =>
    `postgresql://{{username}}:{{password}}@${host}/${database.name}`;
  const config = (more: object = {}) => ({
    plugin_name: 'postgresql-database-plugin',
    connection_url: address(),
    username: manager,
    password: managerPassword,
    allowed_roles: '*',
    ...more,
  });

  beforeAll(async () => {
    database = await emptyDatabase();
    const { adminUrl } = await testServer();
    admin = new pg.Client({
      connectionString: Object.assign(new URL(adminUrl), { pathname: `/${database.name}` }).href,
    });
    await admin.connect();
    await admin.query(`CREATE ROLE ${manager} LOGIN CREATEROLE PASSWORD ${pg.escapeLiteral(managerPassword)}`);
    await admin.query('CREATE TABLE things (id int)');
    await admin.query(`GRANT ALL ON things TO ${manager} WITH GRANT OPTION`);
    await admin.query(`GRANT ALL ON SCHEMA public TO ${manager} WITH GRANT OPTION`);
  });
  afterAll(async () => {
    await admin.query(`DROP OWNED BY ${manager}`);
    await admin.query(`DROP ROLE ${manager}`).catch(() => {});
    await admin.end();
    await database.drop();
  });
  const mount = async () => {
    at = `database${++made}`;
    await secrets.root.write(`sys/mounts/${at}`, { type: 'database' }).expect(204);
    await secrets.root.write(`${at}/config/pg`, config()).expect(204);
    await secrets.root
      .write(`${at}/roles/app`, { db_name: 'pg', creation_statements: creation, default_ttl: '1h' })
      .expect(204);
  };

  it('shows who is connected as which user, with its leases and static roles', async () => {
    await mount();
    const { lease_id, data } = (await secrets.root.read(`${at}/creds/app`).expect(200)).body;
    const unused = (await secrets.root.read(`${at}/creds/app`).expect(200)).body;
    const fixed = `fixed_${randomBytes(4).toString('hex')}`;
    await admin.query(`CREATE ROLE ${fixed} LOGIN PASSWORD 'x'; GRANT ${fixed} TO ${manager} WITH ADMIN OPTION`);
    const terms = { db_name: 'pg', username: fixed, rotation_period: '1h' };
    await secrets.root.write(`${at}/static-roles/kept`, terms).expect(204);
    const client = await connect(data.username, data.password);
    await client.query("SET application_name = 'harbour'");
    const sessions = async () => {
      const answer = (await secrets.root.read(`${at}/config/pg/sessions`).expect(200)).body.data;
      expect(answer.complete).toBe(true);
      return new Map<string, Record<string, unknown>>(
        answer.users.map((user: { username: string }) => [user.username, user]),
      );
    };
    const users = await sessions();
    expect(users.get(data.username)).toEqual({
      username: data.username,
      kind: 'dynamic',
      role: 'app',
      lease_id,
      issue_time: expect.stringMatching(/Z$/),
      expire_time: expect.stringMatching(/Z$/),
      // PostgreSQL shows the client addresses of other users only to members of pg_read_all_stats.
      sessions: [
        { id: expect.stringMatching(/^\d+$/), address: '', application: 'harbour', state: '', connect_time: null },
      ],
    });
    expect(users.get(unused.data.username)).toMatchObject({ lease_id: unused.lease_id, sessions: [] });
    expect(users.get(fixed)).toMatchObject({ kind: 'static', role: 'kept', lease_id: null, sessions: [] });
    expect(users.get(manager)).toMatchObject({ kind: 'root', role: null });
    const owner = decodeURIComponent(new URL((await testServer()).adminUrl).username);
    expect(users.get(owner)).toMatchObject({ kind: 'other', role: null });
    await admin.query(`GRANT pg_read_all_stats TO ${manager}`);
    const [seen] = (await sessions()).get(data.username)!.sessions as Record<string, string>[];
    expect(seen).toMatchObject({ state: 'idle', address: expect.stringMatching(/^127\.0\.0\.1$/) });
    expect(Date.parse(seen!.connect_time!)).toBeGreaterThan(Date.now() - 60_000);
    await client.end();
    const reader = await secrets.withPolicy(`path "${at}/config/*" { capabilities = ["read"] }`);
    await reader.read(`${at}/config/pg/sessions`).expect(403);
    await secrets.root.read(`${at}/config/absent/sessions`).expect(400);
    await secrets.root.write('sys/namespaces/inner').expect(200);
    const inner = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'inner' });
    await inner.write(`sys/mounts/${at}`, { type: 'database' }).expect(204);
    await inner.write(`${at}/config/pg`, config()).expect(204);
    await inner.write(`${at}/roles/app`, { db_name: 'pg', creation_statements: creation }).expect(204);
    const within = (await inner.read(`${at}/creds/app`).expect(200)).body;
    const found = (await inner.read(`${at}/config/pg/sessions`).expect(200)).body.data.users;
    expect(found.filter(({ kind }: { kind: string }) => kind === 'dynamic')).toEqual([
      expect.objectContaining({ username: within.data.username, lease_id: within.lease_id }),
    ]);
    await secrets.root.delete(`${at}/static-roles/kept`).expect(204);
    await admin.query(`DROP ROLE ${fixed}`);
  });

  it('shows a connection without its secrets, and verifies it before it is stored (E9.1)', async () => {
    await mount();
    const { data } = (await secrets.root.read(`${at}/config/pg`).expect(200)).body;
    expect(data).toEqual({
      plugin_name: 'postgresql-database-plugin',
      plugin_version: '',
      allowed_roles: ['*'],
      connection_details: { connection_url: address(), username: manager },
      root_credentials_rotate_statements: [],
      password_policy: '',
    });
    // Clients expect the fields they sent.
    await secrets.root.write(`${at}/config/pg`, { password_authentication: 'password' }).expect(204);
    await secrets.root.write(`${at}/config/pg`, { max_idle_connections: 0 }).expect(204);
    expect((await secrets.root.read(`${at}/config/pg`).expect(200)).body.data.connection_details).toMatchObject({
      password_authentication: 'password',
      max_idle_connections: 0,
    });
    const wrong = config({ password: 'wrong-one' });
    const refused = (await secrets.root.write(`${at}/config/other`, wrong).expect(400)).body.errors[0];
    expect(refused).toMatch(/^error creating database object: error verifying connection: .*authentication failed/);
    expect(refused).not.toContain('wrong-one');
    await secrets.root.read(`${at}/config/other`).expect(404);
    // Settings can be tested without being stored, new ones as well as changes.
    await secrets.root.write(`${at}/config/other`, { ...wrong, dry_run: true }).expect(400);
    await secrets.root.write(`${at}/config/other`, config({ dry_run: true })).expect(204);
    await secrets.root.read(`${at}/config/other`).expect(404);
    await secrets.root.write(`${at}/config/pg`, { allowed_roles: ['none'], dry_run: true }).expect(204);
    expect((await secrets.root.read(`${at}/config/pg`).expect(200)).body.data.allowed_roles).toEqual(['*']);
    const { port } = new URL(database.url);
    await secrets.root
      .write(`${at}/config/named`, config({ connection_url: address(`localhost:${port}`) }))
      .expect(204);
    await secrets.root.write(`${at}/config/other`, { ...wrong, verify_connection: false }).expect(204);
    // The stored connection can be tested at any time.
    await secrets.root.write(`${at}/config/pg/verify`).expect(204);
    const failed = (await secrets.root.write(`${at}/config/other/verify`).expect(400)).body.errors[0];
    expect(failed).toMatch(/^error verifying connection: .*authentication failed/);
    expect(failed).not.toContain('wrong-one');
    await secrets.root.write(`${at}/config/absent/verify`).expect(400);
    const literal = address().replace('{{password}}', 'in-the-url');
    await secrets.root
      .write(`${at}/config/literal`, { ...wrong, connection_url: literal, verify_connection: false })
      .expect(204);
    const details = (await secrets.root.read(`${at}/config/literal`).expect(200)).body.data.connection_details
      .connection_url;
    expect(details).toBe(address().replace('{{password}}', 'xxxxx'));
  });

  it.each([
    [{ plugin_name: '' }, 'empty plugin name'],
    [{ plugin_name: 'oracle' }, 'plugin not found in the catalog: oracle'],
    [{ connection_url: '' }, 'connection_url cannot be empty'],
    [{ connection_url: 'nonsense' }, 'not a valid URL'],
    [{ connection_url: 'postgresql:///var/run' }, 'must contain one host'],
    [{ connection_url: 'host=/var/run/postgresql user=postgres' }, 'must contain one host'],
    [{ connection_url: 'postgresql://169.254.169.254/x' }, 'the address 169.254.169.254 may not be called'],
    [{ connection_url: 'u:p@tcp([fd00:ec2::254]:1)/', plugin_name: 'mysql-database-plugin' }, 'may not be called'],
    [
      { connection_url: '', host: '169.254.169.254', port: 1, plugin_name: 'redis-database-plugin' },
      'may not be called',
    ],
    [{ connection_url: 'postgresql://h:0/x' }, 'port is not valid'],
    [{ connection_url: 'postgresql://h/x?sslmode=some' }, 'sslmode "some" is not known'],
    [{ password_authentication: 'md5' }, "'md5' is not a valid password authentication type"],
    [{ username_template: '{{ .Nope }}' }, 'unable to initialize username template'],
    [{ username_template: '{{ truncate 0 "abc" }}' }, 'invalid username template'],
    [{ max_open_connections: 0 }, 'max_open_connections'],
    [{ plugin_version: 'v1' }, 'plugin_version'],
    [{ tls_certificate: 'x' }, 'tls_certificate and private_key'],
  ])('refuses a connection with %j (E9.2)', async (more, text) => {
    await mount();
    const body = { ...config(more), verify_connection: false };
    const { errors } = (await secrets.root.write(`${at}/config/bad`, body).expect(400)).body;
    expect(errors[0]).toContain(text);
    await secrets.root.read(`${at}/config/bad`).expect(404);
  });

  it('sends the password only to the address that it was given for (E9.3, E9.4)', async () => {
    await mount();
    const other = { connection_url: address('127.0.0.1:1'), verify_connection: false };
    expect((await secrets.root.write(`${at}/config/pg`, other).expect(400)).body.errors[0]).toContain('password');
    await secrets.root.write(`${at}/config/pg`, { allowed_roles: 'a-*' }).expect(204);
    expect((await secrets.root.read(`${at}/creds/app`).expect(400)).body.errors[0]).toBe(
      '"app" is not an allowed role',
    );
  });

  it('calls no other address for any user name, escaped or not (E9.3)', async () => {
    await mount();
    let calls = 0;
    const stranger = createServer((socket) => {
      calls++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const place = `127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const write = (more: object) => secrets.root.write(`${at}/config/pg`, more).expect(400);
    for (const username of [`x@${place}/y#`, `x@${place}/y?password=`, `x:y@${place}/y?a=`]) {
      for (const disable_escaping of [true, false]) await write({ username, disable_escaping });
    }
    for (const connection_url of [
      'host={{username}} user=x',
      'postgresql://x@{{username}}/y',
      'postgresql:///y?host={{username}}',
    ]) {
      const sent = { connection_url, username: '127.0.0.1', password: 'sent', verify_connection: false };
      const { body } = await write(sent);
      expect(body.errors[0]).toContain('must contain one host');
    }
    // The stored password is not used to test another address either.
    await write({ connection_url: address(place), dry_run: true });
    await new Promise((resolve) => stranger.close(resolve));
    expect(calls).toBe(0);
    const escaped = { username: manager, password: encodeURIComponent(managerPassword), disable_escaping: true };
    await secrets.root.write(`${at}/config/pg`, escaped).expect(204);
  });

  it('creates a user with the rights of the role, and drops it, its sessions and objects with the lease (E9.5)', async () => {
    await mount();
    const more = [...creation, 'GRANT CREATE ON SCHEMA public TO "{{name}}"'];
    await secrets.root.write(`${at}/roles/app`, { creation_statements: more }).expect(204);
    const { body } = await secrets.root.read(`${at}/creds/app`).expect(200);
    expect(body).toMatchObject({
      renewable: true,
      lease_duration: 3600,
      lease_id: expect.stringMatching(`^${at}/creds/app/`),
    });
    const { username, password } = body.data;
    expect(username).toMatch(/^v-root-app-\w{20}-\d+$/);
    const client = await connect(username, password);
    await client.query('SELECT * FROM things');
    await expect(client.query('DELETE FROM things')).rejects.toThrow('permission denied');
    const { rows } = await admin.query('SELECT rolvaliduntil AS until FROM pg_roles WHERE rolname = $1', [username]);
    expect(rows[0].until.getTime() - clock.now()).toBeLessThanOrEqual(3_605_000);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    await client.query(`CREATE TABLE of_${made} (id int)`);
    await secrets.root.write('sys/leases/renew', { lease_id: body.lease_id, increment: '2h' }).expect(200);
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id }).expect(204);
    expect(await exists(username)).toBe(0);
    expect(await logsIn(username, password)).toBe(false);
    // The manager owns its tables now; its sessions are ended if the manager may end them.
    expect(
      (await admin.query(`SELECT tableowner FROM pg_tables WHERE tablename = 'of_${made}'`)).rows[0].tableowner,
    ).toBe(manager);
    await client.end();
    await ended;
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id }).expect(204);
  });

  it('extends the user with the lease, unless the role was deleted (E9.6)', async () => {
    await mount();
    await secrets.root.write(`${at}/roles/app`, { max_ttl: '2h' }).expect(204);
    const { body } = await secrets.root.read(`${at}/creds/app`).expect(200);
    const until = async () =>
      (
        await admin.query('SELECT rolvaliduntil AS until FROM pg_roles WHERE rolname = $1', [body.data.username])
      ).rows[0].until.getTime();
    const before = await until();
    clock.advance(1_800_000);
    const renewed = (await secrets.root.write('sys/leases/renew', { lease_id: body.lease_id }).expect(200)).body;
    expect(renewed.lease_duration).toBe(3600);
    expect((await until()) - before).toBeGreaterThan(1_700_000);
    // The user stays where it was made, when the role has another connection.
    const elsewhere = config({ connection_url: address('127.0.0.1:1'), verify_connection: false });
    await secrets.root.write(`${at}/config/other`, elsewhere).expect(204);
    await secrets.root.write(`${at}/roles/app`, { db_name: 'other' }).expect(204);
    await secrets.root.write('sys/leases/renew', { lease_id: body.lease_id }).expect(200);
    await secrets.root.delete(`${at}/roles/app`).expect(204);
    const refused = await secrets.root.write('sys/leases/renew', { lease_id: body.lease_id }).expect(400);
    expect(refused.body.errors[0]).toContain('could not find role with name "app"');
    await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id }).expect(204);
    expect(await exists(body.data.username)).toBe(0);
  });

  it('leaves no user behind when a statement fails, and says why (E9.7)', async () => {
    await mount();
    await secrets.root.write(`${at}/roles/app`, { creation_statements: [...creation, 'SELECT 1 / 0'] }).expect(204);
    const count = async () =>
      Number((await admin.query("SELECT count(*) FROM pg_roles WHERE rolname LIKE 'v-%'")).rows[0].count);
    const before = await count();
    const { errors } = (await secrets.root.read(`${at}/creds/app`).expect(502)).body;
    expect(errors.join()).toContain('division by zero');
    expect(await count()).toBe(before);
    await secrets.root.write(`${at}/roles/app/dry-run`).expect(502);
    const committed = [...creation, 'COMMIT', 'SELECT 1 / 0'];
    await secrets.root.write(`${at}/roles/app`, { creation_statements: committed }).expect(204);
    await secrets.root.read(`${at}/creds/app`).expect(502);
    expect(await count()).toBe(before);
    await secrets.root.write(`${at}/roles/app`, { creation_statements: creation }).expect(204);
    const dryRun = (await secrets.root.write(`${at}/roles/app/dry-run`).expect(200)).body.data;
    expect(dryRun).toMatchObject({ rehearsed: true, username: expect.stringMatching(/^v-root-app/) });
    expect(await exists(dryRun.username)).toBe(0);
    await secrets.root.write(`${at}/roles/app`, { creation_statements: [] }).expect(204);
    for (const refused of [secrets.root.read(`${at}/creds/app`), secrets.root.write(`${at}/roles/app/dry-run`)]) {
      expect((await refused.expect(400)).body.errors).toEqual(['empty creation statements']);
    }
  });

  it('generates user names that are harmless in statements for every display name (E9.8)', async () => {
    await mount();
    const odd = `x"; DROP TABLE things; --`;
    const token = (await secrets.root.write('auth/token/create', { display_name: odd, policies: ['root'] }).expect(200))
      .body.auth.client_token;
    await secrets.root
      .write(`${at}/config/pg`, { username_template: 'u-{{ .DisplayName }}-{{ random 8 }}' })
      .expect(204);
    const { username, password } = (await secrets.as(token).read(`${at}/creds/app`).expect(200)).body.data;
    expect(username).toMatch(/^u-token-x-+DROP-TABLE-things-\w{8}$/);
    expect(await logsIn(username, password)).toBe(true);
    await secrets.root.write(`${at}/config/pg`, { username_template: `u'";{{ random 8 }}` }).expect(204);
    const quoted = (await secrets.root.read(`${at}/creds/app`).expect(200)).body.data;
    expect(quoted.username).toMatch(/^u___\w{8}$/);
    expect(await logsIn(quoted.username, quoted.password)).toBe(true);
    await admin.query('SELECT FROM things');
  });

  it('generates passwords by a policy, and hashes them if configured (E9.8)', async () => {
    await mount();
    const policy = `length = 24\nrule "charset" { charset = "ab'\\"\\\\" }`;
    await secrets.root.write('sys/policies/password/odd', { policy }).expect(204);
    await secrets.root
      .write(`${at}/config/pg`, { password_policy: 'odd', password_authentication: 'scram-sha-256' })
      .expect(204);
    const { username, password } = (await secrets.root.read(`${at}/creds/app`).expect(200)).body.data;
    expect(password).toMatch(/^[ab'"\\]{24}$/);
    expect(await logsIn(username, password)).toBe(true);
    // The server would hash a plaintext password with its own method.
    await admin.query(`ALTER ROLE ${manager} SET password_encryption = 'md5'`);
    await secrets.root.write(`${at}/reset/pg`).expect(204);
    const hashed = (await secrets.root.read(`${at}/creds/app`).expect(200)).body.data;
    await admin.query(`ALTER ROLE ${manager} RESET password_encryption`);
    const { rows } = await admin.query('SELECT rolpassword FROM pg_authid WHERE rolname = $1', [hashed.username]);
    expect(rows[0].rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/);
    await secrets.root.write(`${at}/config/pg`, { password_policy: 'none' }).expect(204);
    expect((await secrets.root.read(`${at}/creds/app`).expect(400)).body.errors[0]).toContain(
      'no password policy found',
    );
  });

  it('rotates the password of the configured user, and keeps working (E9.10)', async () => {
    await mount();
    const shown = async () => (await secrets.root.read(`${at}/config/pg`).expect(200)).body.data.last_rotation;
    expect(await shown()).toBeUndefined();
    await secrets.root.write(`${at}/rotate-root/pg`).expect(204);
    expect(await logsIn(manager, managerPassword)).toBe(false);
    const rotated = await shown();
    expect(rotated).toBe(new Date(clock.now()).toISOString());
    await secrets.root.write(`${at}/config/pg`, { max_open_connections: 5 }).expect(204);
    expect(await shown()).toBe(rotated);
    const { username, password } = (await secrets.root.read(`${at}/creds/app`).expect(200)).body.data;
    expect(await logsIn(username, password)).toBe(true);
    await admin.query(`ALTER ROLE ${manager} PASSWORD ${pg.escapeLiteral(managerPassword)}`);
    await secrets.root
      .write(`${at}/config/pg`, {
        username: '',
        verify_connection: false,
        password: managerPassword,
        connection_url: address().replace('{{username}}', manager),
      })
      .expect(204);
    expect(await shown()).toBeUndefined();
    expect((await secrets.root.write(`${at}/rotate-root/pg`).expect(400)).body.errors[0]).toContain(
      'no username in configuration',
    );
  });

  it('rotates no password that it does not log in with (E9.10)', async () => {
    await mount();
    const literal = encodeURIComponent(managerPassword);
    for (const [connection_url, more] of [
      [address().replace('{{password}}', literal), {}],
      [address().replace('{{username}}', manager), { username: 'other' }],
    ] as const) {
      const sent = { ...config(more), connection_url };
      await secrets.root.write(`${at}/config/pg`, sent).expect(204);
      const { body } = await secrets.root.write(`${at}/rotate-root/pg`).expect(400);
      expect(body.errors[0]).toContain('connection_url must contain {{username}}');
      await secrets.root.write(`${at}/config/pg`, { ...sent, rotation_period: '1h' }).expect(400);
    }
    expect(await logsIn(manager, managerPassword)).toBe(true);
  });

  it('rotates the password of the configured user on schedule, retries failures, and keeps to its window (E9.10)', async () => {
    await mount();
    const read = async () => (await secrets.root.read(`${at}/config/pg`).expect(200)).body.data;
    const write = (terms: object) => secrets.root.write(`${at}/config/pg`, { ...terms, verify_connection: false });
    await write({ rotation_period: '1h', rotation_schedule: '0 3 * * *' }).expect(400, /only one of/);
    await write({ rotation_window: '2h' }).expect(400, /has no meaning/);
    await write({ rotation_period: '1h', username: '' }).expect(400, /only a root credential/);
    expect(await read()).not.toHaveProperty('next_rotation');
    try {
      await write({ rotation_period: '1h' }).expect(204);
      expect(await read()).toMatchObject({ rotation_period: 3600, last_rotation: null, rotation_failures: 0 });
      clock.advance(3_601_000);
      await until(async () => (await read()).last_rotation !== null);
      expect(await logsIn(manager, managerPassword)).toBe(false);
      await secrets.root.read(`${at}/creds/app`).expect(200);
      // The statement fails: the password stays, and the rotation is retried soon.
      await write({ root_rotation_statements: ['SELECT 1 / 0'] }).expect(204);
      const { last_rotation } = await read();
      clock.advance(3_601_000);
      await until(async () => (await read()).rotation_failures === 1);
      expect(await read()).toMatchObject({
        last_rotation,
        last_rotation_error: expect.stringContaining('division by zero'),
      });
      await secrets.root.read(`${at}/creds/app`).expect(200);
      // First the intent finds out which password is valid; until then the connection cannot be changed.
      clock.advance(310_000);
      const daily = { rotation_period: 0, rotation_schedule: '0 3 * * *', rotation_window: '1h' };
      await until(async () => (await write(daily)).status === 204);
      const due = Date.parse((await read()).next_rotation);
      clock.advance(due + 2 * 3_600_000 - clock.now());
      await until(async () => Date.parse((await read()).next_rotation) === due + 24 * 3_600_000);
      expect((await read()).last_rotation_error).toBe('the window passed without an attempt');
      await write({ disable_automated_rotation: true }).expect(204);
      expect((await read()).next_rotation).toBeNull();
    } finally {
      await admin.query(`ALTER ROLE ${manager} PASSWORD ${pg.escapeLiteral(managerPassword)}`);
    }
  });

  it('loses no password when the connection is written during a rotation (E9.10)', async () => {
    await mount();
    let refused = '';
    places.set('database:setPassword:done', async () => {
      const write = secrets.root.write(`${at}/config/pg`, { max_open_connections: 5, verify_connection: false });
      refused = (await write.expect(400)).body.errors[0];
    });
    try {
      await secrets.root.write(`${at}/rotate-root/pg`).expect(204);
      expect(refused).toContain('another request is changing this connection');
      await secrets.root.read(`${at}/creds/app`).expect(200);
    } finally {
      places.clear();
      await admin.query(`ALTER ROLE ${manager} PASSWORD ${pg.escapeLiteral(managerPassword)}`);
    }
  });

  it('creates users for sixteen simultaneous callers whose grants conflict', async () => {
    await mount();
    await secrets.root.write(`${at}/config/pg`, { max_open_connections: 16 }).expect(204);
    const credentials = await Promise.all(
      Array.from({ length: 16 }, () => secrets.root.read(`${at}/creds/app`).expect(200)),
    );
    const users = credentials.map(({ body }) => body.data as { username: string; password: string });
    expect(await Promise.all(users.map(({ username, password }) => logsIn(username, password)))).not.toContain(false);
    await secrets.root.write(`sys/leases/revoke-prefix/${at}/creds`, { sync: true }).expect(204);
    for (const { username } of users) expect(await exists(username)).toBe(0);
  });

  it('keeps no more idle connections than configured', async () => {
    await mount();
    const idleConfig = { ...config(), connection_url: `${address()}?application_name=idle`, max_idle_connections: 1 };
    await secrets.root.write(`${at}/config/pg`, idleConfig).expect(204);
    const open = async () => {
      const { rows } = await admin.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idle'");
      return Number(rows[0].count);
    };
    await Promise.all(Array.from({ length: 4 }, () => secrets.root.read(`${at}/creds/app`).expect(200)));
    await until(async () => (await open()) === 1, 5_000);
  });

  describe('with static roles', () => {
    const user = `static_${manager}`;
    const urls = withSecondNode(secrets);
    beforeAll(() =>
      admin.query(`CREATE ROLE ${user} LOGIN PASSWORD 'before'; GRANT ${user} TO ${manager} WITH ADMIN OPTION`),
    );
    afterAll(() => admin.query(`DROP ROLE ${user}`));
    const creds = async (client = secrets.root) => (await client.read(`${at}/static-creds/s`).expect(200)).body.data;

    it('rotates no password outside its window (E9.11)', async () => {
      await mount();
      const role = { db_name: 'pg', username: user, rotation_schedule: '0 3 * * *', rotation_window: '1h' };
      const write = (more: object) => secrets.root.write(`${at}/static-roles/s`, { ...role, ...more });
      await write({ rotation_window: '10m' }).expect(400, /at least 1h/);
      await write({ rotation_schedule: '', rotation_period: 3600 }).expect(400, /has no meaning/);
      await write({}).expect(204);
      const first = await creds();
      expect(first).toMatchObject({ rotation_schedule: '0 3 * * *', rotation_window: 3600 });
      clock.advance((first.ttl + 2 * 3600) * 1000);
      await until(async () => (await creds()).ttl > 0);
      expect((await creds()).password).toBe(first.password);
      clock.advance(((await creds()).ttl + 60) * 1000);
      await until(async () => (await creds()).password !== first.password);
    });

    it('takes over a user, and rotates its password when due, once for all nodes (E9.11)', async () => {
      await mount();
      await secrets.root
        .write(`${at}/static-roles/s`, { db_name: 'pg', username: user, rotation_period: 3600 })
        .expect(204);
      expect(await logsIn(user, 'before')).toBe(false);
      const first = await creds();
      expect(first).toMatchObject({ username: user, rotation_period: 3600, ttl: 3600 });
      expect(await logsIn(user, first.password)).toBe(true);
      clock.advance(3_601_000);
      await until(async () => (await creds()).password !== first.password);
      const second = await creds();
      expect(second.ttl).toBeGreaterThan(3590);
      expect(await logsIn(user, second.password)).toBe(true);
      const rotate = (url: string) =>
        fetch(`${url}/v1/${at}/rotate-role/s`, { method: 'POST', headers: { 'X-Service-Token': secrets.rootToken } });
      expect((await Promise.all(urls.map(rotate))).map(({ status }) => status)).toEqual([204, 204]);
      await secrets.root.write(`${at}/rotate-role/s`).expect(204);
      const third = await creds();
      expect(third.password).not.toBe(second.password);
      expect(await logsIn(user, third.password)).toBe(true);
      await secrets.root.write(`${at}/static-roles/s`, { rotation_period: 7200 }).expect(204);
      expect((await creds()).password).toBe(third.password);
      expect((await creds()).ttl).toBeGreaterThan(7000);
      await secrets.root.delete(`${at}/static-roles/s`).expect(204);
      expect(await logsIn(user, third.password)).toBe(true);
    });

    it('lets two users take turns, so that a password stays valid until the next rotation (E9.12)', async () => {
      await mount();
      const second = `${user}_b`;
      await admin.query(`CREATE ROLE ${second} LOGIN; GRANT ${second} TO ${manager} WITH ADMIN OPTION`);
      try {
        const role = { db_name: 'pg', username: user, second_username: second, rotation_period: 3600 };
        const absent = await secrets.root.write(`${at}/static-roles/s`, { ...role, second_username: 'absent' });
        expect([absent.status, absent.body.errors[0]]).toEqual([502, 'role "absent" does not exist']);
        await secrets.root.read(`${at}/static-roles/s`).expect(404);
        await secrets.root.write(`${at}/static-roles/s`, { ...role, second_username: user }).expect(400);
        await secrets.root.write(`${at}/static-roles/s`, role).expect(204);
        const credentials = [await creds()];
        for (let time = 0; time < 3; time++) {
          clock.advance(3_601_000);
          await until(async () => (await creds()).password !== credentials.at(-1).password);
          credentials.push(await creds());
        }
        expect(credentials.map(({ username }) => username)).toEqual([user, second, user, second]);
        const valid = await Promise.all(credentials.map(({ username, password }) => logsIn(username, password)));
        expect(valid).toEqual([false, false, true, true]);
        const change = { second_username: '' };
        const refused = (await secrets.root.write(`${at}/static-roles/s`, change).expect(400)).body.errors[0];
        expect(refused).toContain('is in use: rotate the role first');
        await secrets.root.write(`${at}/rotate-role/s`).expect(204);
        await secrets.root.write(`${at}/static-roles/s`, change).expect(204);
        expect((await secrets.root.read(`${at}/static-roles/s`).expect(200)).body.data).not.toHaveProperty(
          'second_username',
        );
      } finally {
        await admin.query(`DROP ROLE ${second}`);
      }
    });

    it('neither shows nor rotates a password if the connection no longer allows the role, or was deleted (E9.4)', async () => {
      await mount();
      const role = { db_name: 'pg', username: user, rotation_period: 3600 };
      await secrets.root.write(`${at}/static-roles/s`, role).expect(204);
      const { password } = await creds();
      const refused = async (text: string) => {
        for (const request of [secrets.root.read(`${at}/static-creds/s`), secrets.root.write(`${at}/rotate-role/s`)]) {
          expect((await request.expect(400)).body.errors).toEqual([text]);
        }
      };
      await secrets.root.write(`${at}/config/pg`, { allowed_roles: 'others-*' }).expect(204);
      await refused('"s" is not an allowed role');
      expect(await logsIn(user, password)).toBe(true);
      await secrets.root.write(`${at}/config/pg`, { allowed_roles: '*' }).expect(204);
      expect((await creds()).password).toBe(password);
      await secrets.root.delete(`${at}/config/pg`).expect(204);
      await refused('failed to find entry for connection with name: "pg"');
    });

    it('rotates the other roles if the connection of one role was deleted (E9.13)', async () => {
      await mount();
      await secrets.root.write(`${at}/config/gone`, config()).expect(204);
      const role = (db_name: string, name: string, rotation_period: number) =>
        secrets.root.write(`${at}/static-roles/${name}`, { db_name, username: user, rotation_period }).expect(204);
      await role('gone', 'a', 60);
      await role('pg', 's', 120);
      await secrets.root.delete(`${at}/config/gone`).expect(204);
      const { password } = await creds();
      clock.advance(130_000);
      await until(async () => (await creds()).password !== password);
    });

    it.each([
      [{ db_name: '' }, 'database name is a required field'],
      [{ username: '' }, 'username is a required field to create a static account'],
      [{ rotation_period: 0 }, 'rotation_period is required to create static accounts'],
      [{ rotation_period: 4 }, 'rotation_period must be 5 seconds or more'],
      [{ rotation_period: 0, rotation_schedule: 'x' }, 'not a cron line'],
      [{ rotation_schedule: '@daily' }, "only one of 'rotation_period' and 'rotation_schedule'"],
      [{ credential_type: 'x' }, 'invalid credential_type "x"'],
      [{ credential_type: 'rsa_private_key' }, 'unsupported credential_type'],
      [{ credential_config: { key_bits: '1' } }, 'key_bits is not known'],
    ])('refuses a static role with %j (E9.11)', async (more, text) => {
      await mount();
      const body = { db_name: 'pg', username: user, rotation_period: 3600, ...more };
      expect((await secrets.root.write(`${at}/static-roles/s`, body).expect(400)).body.errors[0]).toContain(text);
    });

    it('refuses a static role for an absent user, or with the name of another kind of role', async () => {
      await mount();
      const body = { db_name: 'pg', username: 'not_there', rotation_period: 3600 };
      expect((await secrets.root.write(`${at}/static-roles/s`, body).expect(502)).body.errors.join()).toContain(
        'does not exist',
      );
      await secrets.root.read(`${at}/static-roles/s`).expect(404);
      const clash = await secrets.root.write(`${at}/static-roles/app`, { ...body, username: user }).expect(400);
      expect(clash.body.errors[0]).toBe('Role and Static Role names must be unique');
    });
  });

  it('answers a call whose connection is lost, and leaves no user behind', async () => {
    await mount();
    const slow = [...creation, 'SELECT pg_sleep(60)'];
    await secrets.root.write(`${at}/roles/app`, { creation_statements: slow }).expect(204);
    const answer = secrets.root.read(`${at}/creds/app`).then(({ status }) => status);
    const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND query LIKE '%pg_sleep%'`;
    await until(async () => ((await admin.query(ended, [manager])).rowCount ?? 0) > 0);
    expect(await answer).toBe(502);
    await secrets.root.write(`${at}/roles/app`, { creation_statements: creation }).expect(204);
    await secrets.root.read(`${at}/creds/app`).expect(200);
  });

  it('keeps leases while the database is down, and revokes them when it is back', async () => {
    await mount();
    const url = new URL(database.url);
    const proxy = await DatabaseProxy.start(url.href);
    try {
      const through = { ...config(), connection_url: address(new URL(proxy.url).host) };
      await secrets.root.write(`${at}/config/pg`, through).expect(204);
      const { body } = await secrets.root.read(`${at}/creds/app`).expect(200);
      proxy.leave('gone');
      await secrets.root.read(`${at}/creds/app`).expect(502);
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true }).expect(400);
      expect(await exists(body.data.username)).toBe(1);
      proxy.leave(undefined);
      await until(async () => {
        clock.advance(20_000);
        return (await exists(body.data.username)) === 0;
      });
    } finally {
      await proxy.close();
    }
  });
});
