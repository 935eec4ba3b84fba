import type { Server } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import pg from 'pg';
import { startSecrets } from '../../secrets/test/start-secrets';
import { startWorkspaces } from '../../workspaces/test/start-workspaces';
import { version } from '../src/version';
import { keystead } from './run-keystead';

interface Finding {
  severity: string;
  subject: string;
  what: string;
  next: string;
}

const addressOf = (server: unknown) => `http://127.0.0.1:${((server as Server).address() as AddressInfo).port}`;

describe('keystead doctor', () => {
  const secrets = startSecrets();
  const workspaces = startWorkspaces();
  const whole = () => ({
    SERVICE_ADDR: addressOf(secrets.server),
    SERVICE_TOKEN: secrets.rootToken,
    SECRETS_DATABASE_URL: secrets.database.url,
    WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
    HOME: '/nonexistent',
  });
  const ask = async (env: Record<string, string> = {}) => {
    const ran = await keystead(['doctor', '-format=json'], { ...whole(), ...env });
    const { findings, fine } = JSON.parse(ran.printed) as { findings: Finding[]; fine: string[] };
    return { ...ran, findings, fine, said: findings.map(({ severity, what }) => `${severity}: ${what}`) };
  };
  const sql = async (url: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };

  it('checks services and databases, and lists the worst findings first, with advice', async () => {
    const { code, findings, fine } = await ask();
    const order = ['critical', 'warning', 'notice', 'unchecked'];
    const ranks = findings.map(({ severity }) => order.indexOf(severity));
    expect([code, ranks]).toEqual([2, [...ranks].sort((a, b) => a - b)]);
    expect(findings.every(({ what, next }) => what !== '' && next !== '')).toBe(true);
    expect(fine).toEqual(
      expect.arrayContaining([
        'secrets: unsealed',
        `secrets: version ${version()}`,
        'secrets: audit devices are writing their entries',
        'database of secrets: its tables are of this version',
        'database of workspaces: its tables are not newer than this program',
        'database of workspaces: notifications arrive',
        'database of secrets: no pool in transaction mode in front of it',
      ]),
    );
    const said = findings.map(({ what }) => what);
    expect(said).toContain('your token is a root token: it may do everything, and never expires');
    expect(said).toContain('no login needs a second factor, not even those of administrators');
    // No check failed to run: each statement fits the tables.
    expect(findings.filter(({ severity }) => severity === 'unchecked').map(({ subject }) => subject)).toEqual([
      'workspaces',
    ]);
  });

  it('in a container of the workspace service checks the secrets service that the settings name', async () => {
    const own = { SERVICE_ADDR: undefined, SECRETS_DATABASE_URL: undefined } as unknown as Record<string, string>;
    const { fine } = await ask({ ...own, WORKSPACES_SECRETS_ADDR: `${addressOf(secrets.server)}/` });
    expect(fine).toContain('secrets: unsealed');
    const { findings } = await ask(own);
    expect(findings.filter(({ subject }) => subject === 'secrets')).toMatchObject([
      { severity: 'unchecked', what: 'no address was given' },
    ]);
  });

  it('finds tables that are newer or older, and overdue work', async () => {
    await sql(
      workspaces.databaseUrl,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       VALUES ('x', 'x', '29990101000000_future', now(), 1)`,
    );
    await sql(
      secrets.database.url,
      // The service would process due rows within a second; here it is stopped.
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
      `CREATE TRIGGER refuse BEFORE UPDATE ON intent FOR EACH ROW WHEN (OLD.kind = 'x') EXECUTE FUNCTION refuse()`,
      `INSERT INTO intent (id, mount_id, kind, created_at_ms, due_at_ms, sealed)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'x', 0, 1, '')`,
    );
    const { said } = await ask();
    expect(said).toContain('critical: its tables belong to a newer version: 29990101000000_future');
    expect(said).toContain('warning: 1 effects in outside systems have waited over 15 minutes to be settled or undone');
    await sql(workspaces.databaseUrl, "DELETE FROM _prisma_migrations WHERE id = 'x'");
    await sql(secrets.database.url, 'DROP FUNCTION refuse CASCADE', "DELETE FROM intent WHERE kind = 'x'");
  });

  it('finds roles that identify runs only by names', async () => {
    await secrets.root.write('sys/auth/runs', { type: 'jwt' }).expect(204);
    await secrets.root
      .write('auth/runs/config', {
        jwks_url: `${addressOf(workspaces.server)}/.well-known/jwks`,
        bound_issuer: 'https://workspaces.test',
      })
      .expect(204);
    const role = (name: string, more: object) =>
      secrets.root
        .write(`auth/runs/role/${name}`, { user_claim: 'workspace_id', bound_audiences: ['a'], ...more })
        .expect(204);
    const by = { organization_name: 'acme', workspace_name: 'web' };
    await role('names', { bound_claims: by });
    await role('subject', { bound_subject: 'organization:acme:project:p:workspace:w:run_phase:plan' });
    await role('ids', { bound_claims: { ...by, organization_id: 'org-1' } });
    await role('subject-ids', { bound_subject: 'organization:org-1:project:prj-1:workspace:ws-1:run_phase:plan' });
    await role('others', { bound_claims: { groups: 'ops' } });
    const { said } = await ask();
    expect(said).toContainEqual(
      expect.stringMatching(
        /^warning: these roles bind only organization or workspace names, .*: auth\/runs\/role\/names, auth\/runs\/role\/subject$/,
      ),
    );
  });

  it('finds settings of the database that can lose acknowledged writes', async () => {
    const name = new URL(secrets.database.url).pathname.slice(1);
    await sql(secrets.database.url, `ALTER DATABASE ${pg.escapeIdentifier(name)} SET synchronous_commit = off`);
    expect((await ask()).said).toContain('critical: synchronous_commit is off');
    await sql(secrets.database.url, `ALTER DATABASE ${pg.escapeIdentifier(name)} RESET synchronous_commit`);
  });

  it.each(['SECRETS', 'WORKSPACES'])('finds proxies of %s that are trusted by their address only', async (prefix) => {
    const proxies = { [`${prefix}_TRUSTED_PROXIES`]: '10.0.0.1' };
    const warning = 'warning: trusts proxies only by their address: every program at that address can act as one';
    expect((await ask()).said).not.toContain(warning);
    expect((await ask(proxies)).said).toContain(warning);
    for (const name of [`${prefix}_TRUSTED_PROXY_SECRET`, `${prefix}_TRUSTED_PROXY_SECRET_FILE`]) {
      const { said, fine } = await ask({ ...proxies, [name]: 'x'.repeat(32) });
      expect(said).not.toContain(warning);
      expect(fine).toContain(`${prefix.toLowerCase()}: its trusted proxies have a secret`);
    }
  });

  it('reports checks that the caller may not make, and never shows the token', async () => {
    const { token = '' } = await secrets.withPolicy('path "sys/audit" { capabilities = ["deny"] }');
    const { said, printed } = await ask({ SERVICE_TOKEN: token });
    expect(said).toEqual(
      expect.arrayContaining([
        'unchecked: audit devices: your token may not read sys/audit',
        'unchecked: second factors: your token may not read identity/mfa/login-enforcement',
        'unchecked: node metrics: your token may not read sys/metrics',
      ]),
    );
    expect(printed).not.toContain(token);
  });

  it.each([
    ['no service', { SERVICE_ADDR: 'http://127.0.0.1:9' }, /critical: http:\/\/127.0.0.1:9 cannot be reached/],
    ['no workspace service', { WORKSPACES_ADDR: 'http://127.0.0.1:9' }, /critical: http:\/\/127.0.0.1:9 cannot be/],
    ['no database', { SECRETS_DATABASE_URL: 'postgresql://a:hush@127.0.0.1:9/x' }, /critical: .*127.0.0.1:9/],
    ['no token', { SERVICE_TOKEN: 'unknown' }, /unchecked: your token/],
  ])('continues if there is %s', async (_, env, expected) => {
    const { code, said, printed } = await ask(env as Record<string, string>);
    expect([code, said]).toEqual([2, expect.arrayContaining([expect.stringMatching(expected)])]);
    expect(said.length).toBeGreaterThan(2);
    expect(printed).not.toContain('hush');
  });

  describe('at an address with a certificate', () => {
    let server: https.Server;
    beforeAll(async () => {
      server = https.createServer(testCertificate, (_, response) => response.end('{"initialized":true,"sealed":true}'));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => void server.close());

    it('reports that the certificate is unknown, and does not trust it', async () => {
      const { port } = server.address() as AddressInfo;
      const { said } = await ask({ SERVICE_ADDR: `https://127.0.0.1:${port}` });
      expect(said).toContainEqual(expect.stringMatching(/^critical: its certificate is not trusted: \w+/));
    });

    it('makes the checks of the service if the certificate is trusted', async () => {
      const { port } = server.address() as AddressInfo;
      const env = { SERVICE_ADDR: `https://127.0.0.1:${port}`, SERVICE_SKIP_VERIFY: 'true' };
      expect((await ask(env)).said).toContain('critical: it is sealed, so it serves no requests');
    });
  });
});
