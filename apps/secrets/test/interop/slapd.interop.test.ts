import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, testCertificate } from '@keystead/testing';
import { startSecrets } from '../start-secrets';

const program = ['/usr/sbin/slapd', '/usr/lib/openldap/slapd'].find(existsSync);
const schemas = ['/etc/ldap/schema', '/etc/openldap/schema'].find(existsSync);
const installed = program !== undefined && schemas !== undefined;
if (!installed) process.stderr.write('skipped: no slapd here, so there is no login by a real directory\n');
const withSlapd = installed ? describe : describe.skip;

const base = 'dc=acme,dc=example';
const entry = (dn: string, ...lines: string[]) => [`dn: ${dn}`, ...lines, '', ''].join('\n');
const person = (uid: string, of = `ou=people,${base}`) =>
  entry(
    `uid=${uid},${of}`,
    'objectClass: inetOrgPerson',
    `uid: ${uid}`,
    `cn: ${uid}`,
    `sn: ${uid}`,
    `userPassword: right ${uid}`,
  );
const group = (cn: string, ...members: string[]) =>
  entry(
    `cn=${cn},ou=groups,${base}`,
    'objectClass: groupOfNames',
    `cn: ${cn}`,
    ...members.map((uid) => `member: uid=${uid},ou=people,${base}`),
  );

// OpenLDAP, with its handling of empty passwords, referrals and escapes.
withSlapd('login by OpenLDAP', () => {
  const secrets = startSecrets();
  const home = mkdtempSync(path.join(tmpdir(), 'slapd-'));
  const file = (name: string) => path.join(home, name);
  let slapd: ChildProcess | undefined;
  let port = 0;
  let securePort = 0;

  const start = async () => {
    const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${securePort}/`;
    slapd = spawn(program!, ['-d', '0', '-f', file('slapd.conf'), '-h', urls], { stdio: 'ignore' });
    for (let tries = 0; !(await isOpen(securePort)); tries++) {
      if (tries > 300) throw new Error('slapd does not listen');
      await sleep(100);
    }
  };
  const stop = async () => {
    const ended = new Promise((resolve) => slapd?.once('exit', resolve));
    slapd?.kill();
    if (slapd) await ended;
    slapd = undefined;
  };
  const modify = (ldif: string) =>
    execFileSync('ldapmodify', ['-x', '-H', `ldap://127.0.0.1:${port}`, '-D', `cn=admin,${base}`, '-w', 'admin'], {
      input: ldif,
      stdio: ['pipe', 'ignore', 'pipe'],
    });

  beforeAll(async () => {
    port = await freePort();
    securePort = await freePort();
    mkdirSync(file('db'));
    writeFileSync(file('tls.pem'), testCertificate.cert);
    writeFileSync(file('tls.key'), testCertificate.key);
    const modules = ['/usr/lib/ldap', '/usr/lib/openldap'].find((folder) => existsSync(`${folder}/back_mdb.so`));
    writeFileSync(
      file('slapd.conf'),
      [
        ...['core', 'cosine', 'inetorgperson'].map((name) => `include ${schemas}/${name}.schema`),
        ...(modules ? [`modulepath ${modules}`, 'moduleload back_mdb'] : []),
        // As in many directories, a name without a password is an anonymous bind.
        'allow bind_anon_cred bind_anon_dn',
        `TLSCertificateFile ${file('tls.pem')}`,
        `TLSCertificateKeyFile ${file('tls.key')}`,
        `pidfile ${file('pid')}`,
        'database mdb',
        `suffix "${base}"`,
        `rootdn "cn=admin,${base}"`,
        'rootpw admin',
        `directory ${file('db')}`,
        'maxsize 134217728',
        'access to attrs=userPassword by anonymous auth by * none',
        `access to * by dn.base="cn=search,${base}" read by * auth`,
        '',
      ].join('\n'),
    );
    const ldif = [
      entry(base, 'objectClass: dcObject', 'objectClass: organization', 'dc: acme', 'o: Acme'),
      ...['people', 'groups', 'others'].map((ou) =>
        entry(`ou=${ou},${base}`, 'objectClass: organizationalUnit', `ou: ${ou}`),
      ),
      entry(
        `cn=search,${base}`,
        'objectClass: organizationalRole',
        'objectClass: simpleSecurityObject',
        'cn: search',
        'userPassword: finds',
      ),
      ...['ada', 'eve', 'o(d)d*\\2c#x'].map((uid) =>
        uid === 'ada' || uid === 'eve'
          ? person(uid)
          : entry(
              `cn=odd,ou=people,${base}`,
              'objectClass: inetOrgPerson',
              `uid: ${uid}`,
              'cn: odd',
              'sn: odd',
              'userPassword: right odd',
            ),
      ),
      entry(
        `cn=elsewhere,ou=people,${base}`,
        'objectClass: referral',
        'objectClass: extensibleObject',
        'cn: elsewhere',
        'ref: ldap://127.0.0.1:1/ou=people',
      ),
      group('ops', 'ada', 'eve'),
      group('staff', 'ada'),
    ].join('');
    writeFileSync(file('start.ldif'), ldif);
    execFileSync(program!.replace(/slapd$/, 'slapadd'), ['-f', file('slapd.conf'), '-l', file('start.ldif')]);
    await start();
    await secrets.root.write('sys/auth/ldap', { type: 'ldap' }).expect(204);
    await secrets.root.write('auth/ldap/groups/ops', { policies: 'of-ops' }).expect(204);
    await secrets.root.write('auth/ldap/groups/staff', { policies: 'of-staff' }).expect(204);
  }, 120_000);
  beforeEach(() => configure({ starttls: false, deny_null_bind: true }).expect(204));
  afterAll(async () => {
    await stop();
    rmSync(home, { recursive: true, force: true });
  });

  const configure = (fields: object = {}) =>
    secrets.root.write('auth/ldap/config', {
      url: `ldaps://127.0.0.1:${securePort}`,
      certificate: testCertificate.cert,
      binddn: `cn=search,${base}`,
      bindpass: 'finds',
      userdn: `ou=people,${base}`,
      userattr: 'uid',
      groupdn: `ou=groups,${base}`,
      ...fields,
    });
  const login = (name: string, password: string) =>
    secrets.anonymous.write(`auth/ldap/login/${encodeURIComponent(name)}`, { password });

  it('logs people in by LDAPS and by StartTLS, with the policies of their groups', async () => {
    const { body } = await login('ada', 'right ada').expect(200);
    expect(body.auth.policies).toEqual(['default', 'of-ops', 'of-staff']);
    await configure({ url: `ldap://127.0.0.1:${port}`, starttls: true }).expect(204);
    await login('eve', 'right eve').expect(200);
    await configure({ certificate: '' }).expect(204);
    await login('eve', 'right eve').expect(502, /CERT/);
  });

  it.each([
    ['a wrong password', 'ada', 'wrong'],
    ['a star', '*', 'right ada'],
    ['another filter', 'ada)(uid=*', 'right ada'],
    ['an escaped character', '\\61da', 'right ada'],
    ['a person in another part of the tree', 'search', 'finds'],
  ])('refuses %s', async (_what, name, password) => {
    const { body } = await login(name, password).expect(400);
    expect(body.errors).toEqual(['ldap operation failed: failed to bind as user']);
  });

  it('finds a person whose name consists of the characters that a filter escapes', async () => {
    await login('o(d)d*\\2c#x', 'right odd').expect(200);
    await login('o(d)d*\\2c#x', 'right ada').expect(400);
  });

  it('refuses a login without a password, which the directory would accept', async () => {
    await login('ada', '').expect(400, /zero length/);
    await configure({ deny_null_bind: false }).expect(204);
    // The directory accepts this bind: without our check, logins would need no password.
    const { status } = await login('ada', '');
    expect(status).toBe(200);
  });

  it('removes groups and people at the next renewal', async () => {
    const { body } = await login('eve', 'right eve').expect(200);
    const eve = secrets.as(body.auth.client_token);
    await eve.write('auth/token/renew-self').expect(200);
    modify(
      entry(`cn=ops,ou=groups,${base}`, 'changetype: modify', 'delete: member', `member: uid=eve,ou=people,${base}`),
    );
    await eve.write('auth/token/renew-self').expect(400, /policies have changed/);
    expect((await login('eve', 'right eve').expect(200)).body.auth.policies).toEqual(['default']);
    modify(entry(`uid=eve,ou=people,${base}`, 'changetype: delete'));
    await eve.write('auth/token/renew-self').expect(400, /no longer exists in the directory/);
    await login('eve', 'right eve').expect(400);
  });

  it('accepts a group of ten thousand', async () => {
    modify(
      entry(
        `cn=crowd,ou=groups,${base}`,
        'changetype: add',
        'objectClass: groupOfNames',
        'cn: crowd',
        ...Array.from({ length: 10_000 }, (_, n) => `member: uid=p${n},ou=people,${base}`),
        `member: uid=ada,ou=people,${base}`,
      ),
    );
    await secrets.root.write('auth/ldap/groups/crowd', { policies: 'of-crowd' }).expect(204);
    expect((await login('ada', 'right ada').expect(200)).body.auth.policies).toContain('of-crowd');
  });

  it('reports that the directory is down, counts no failures, and works again when it is back', async () => {
    await stop();
    for (let n = 0; n < 12; n++) await login('ada', 'right ada').expect(502);
    await start();
    // A system that did not answer is not called for a few seconds.
    for (let tries = 0; (await login('ada', 'right ada')).status !== 200; tries++) {
      if (tries > 300) throw new Error('all logins fail');
      await sleep(100);
    }
  }, 60_000);
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
