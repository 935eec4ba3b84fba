import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock, testCertificate } from '@keystead/testing';
import { type DirectoryEntry, DirectoryStandIn } from '../../../test/stand-ins/ldap';
import { startSecrets } from '../../../test/start-secrets';
import { filterText, nameText } from './filter';
import { sidText } from './token-groups';

const people = 'ou=people,dc=acme';
const groups = 'ou=groups,dc=acme';

describe('login by a directory', () => {
  const directory = new DirectoryStandIn();
  const secure = new DirectoryStandIn(true);
  beforeAll(() => Promise.all([directory.start(), secure.start()]));
  afterAll(() => Promise.all([directory.stop(), secure.stop()]));
  const clock = manualClock(Date.now());
  const secrets = startSecrets({ clock });

  const entries = (): DirectoryEntry[] => [
    { dn: 'cn=service,dc=acme', password: 'service-password', attributes: {} },
    {
      dn: `uid=ada,${people}`,
      password: 'right',
      attributes: { uid: ['ada'], cn: ['Ada'], userPrincipalName: ['ada@acme.example'] },
    },
    { dn: `uid=bob,${people}`, password: 'bobs', attributes: { uid: ['bob'] } },
    { dn: `cn=Ops,${groups}`, attributes: { cn: ['Ops'], member: [`uid=ada,${people}`], memberUid: ['ada'] } },
    { dn: `cn=Staff,${groups}`, attributes: { cn: ['Staff'], memberUid: ['ada', 'bob'] } },
  ];
  const base = () => ({
    url: directory.address,
    binddn: 'cn=service,dc=acme',
    bindpass: 'service-password',
    userdn: people,
    userattr: 'uid',
    groupdn: groups,
    token_policies: 'everyone',
    token_ttl: '20m',
    discoverdn: false,
    upndomain: '',
    starttls: false,
    certificate: '',
    case_sensitive_names: false,
    username_as_alias: false,
    userfilter: '({{.UserAttr}}={{.Username}})',
    deny_null_bind: true,
    request_timeout: 90,
  });
  const configure = (fields: object = {}) => secrets.root.write('auth/ldap/config', { ...base(), ...fields });
  const login = (name: string, password: string) =>
    secrets.anonymous.write(`auth/ldap/login/${encodeURIComponent(name)}`, { password });
  const wrong = /ldap operation failed: failed to bind as user/;
  beforeAll(async () => {
    await secrets.root.write('sys/auth/ldap', { type: 'ldap' }).expect(204);
    await login('ada', 'right').expect(400, /auth method not configured/);
  });
  beforeEach(async () => {
    // Directories that did not answer before are tried again.
    clock.advance(60_000);
    for (const one of [directory, secure]) {
      Object.assign(one, { entries: entries(), failure: undefined, silent: false, reference: undefined });
      Object.assign(one, { hangUpAfterBinds: Number.POSITIVE_INFINITY });
      one.binds.length = 0;
      one.searches.length = 0;
    }
    await configure().expect(204);
  });

  it('shows the defaults, merges written settings, and never shows its secrets', async () => {
    await configure({ max_page_size: 50 }).expect(204);
    await secrets.root.write('auth/ldap/config', { groupattr: 'cn' }).expect(204);
    const { body, text } = await secrets.root.read('auth/ldap/config').expect(200);
    expect(body.data).toMatchObject({
      url: directory.address,
      max_page_size: 50,
      deny_null_bind: true,
      tls_min_version: 'tls12',
      dereference_aliases: 'never',
      request_timeout: 90,
      token_policies: ['everyone'],
      token_ttl: 1200,
    });
    expect(text).not.toContain('service-password');
    // Terraform’s provider writes this by default.
    await configure({ max_page_size: -1 }).expect(204);
    expect((await secrets.root.read('auth/ldap/config').expect(200)).body.data.max_page_size).toBe(-1);
    await login('ada', 'right').expect(200);
    await configure({ max_page_size: 0 }).expect(204);
  });

  it.each([
    [{ url: 'http://a' }, 'is not an address of a directory'],
    [{ url: 'ldap://a/dc=x' }, 'is not an address of a directory'],
    [{ tls_min_version: 'cats' }, "invalid 'tls_min_version'"],
    [{ tls_min_version: 'tls13', tls_max_version: 'tls12' }, "'tls_max_version' must be greater"],
    [{ client_tls_cert: 'x' }, 'both client_tls_cert and client_tls_key must be set'],
    [{ certificate: 'x' }, 'certificate: failed to parse'],
    [{ userattr: 'uid=*)(uid' }, 'userattr must be the name of an attribute'],
    [{ userfilter: '(uid={{.Password}})' }, '{{.Password}} is unknown'],
    [{ groupfilter: '{{range .}}x{{end}}' }, 'only names are allowed in braces'],
    [{ request_timeout: '2m' }, 'cannot be longer than 90 seconds'],
    [{ dereference_aliases: 'sometimes' }, "invalid 'dereference_aliases'"],
  ])('refuses the configuration %j', async (fields, text) => {
    const { body } = await configure(fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it('finds names beyond ASCII, and treats names that are equal for the directory as one', async () => {
    const spellings = ['ève', 'eve', 'ｅve'];
    const eve = { dn: `uid=ève,${people}`, password: 'right', attributes: { uid: spellings } };
    const group = { dn: `cn=Élèves,${groups}`, attributes: { cn: ['Élèves'], member: [eve.dn] } };
    directory.entries = [...entries(), eve, group];
    await configure({ username_as_alias: true }).expect(204);
    await secrets.root.write(`auth/ldap/groups/${encodeURIComponent('Élèves')}`, { policies: 'pupils' }).expect(204);
    const names = new Set<string>();
    for (const name of spellings) {
      const { auth } = (await login(name, 'right').expect(200)).body;
      names.add(auth.entity_id);
      expect(auth.token_policies).toContain('pupils');
    }
    expect(names.size).toBe(1);
    for (const name of [...spellings, 'EVE', 'ÈVE']) await login(name, 'wrong').expect(400);
    expect((await login('eve', 'right')).status).toBeGreaterThanOrEqual(400);
    await secrets.root.delete(`auth/ldap/groups/${encodeURIComponent('Élèves')}`).expect(204);
  });

  it('warns of passwords in the clear', async () => {
    const warnings = async () => (await secrets.root.read('auth/ldap/config').expect(200)).body.warnings;
    for (const url of [
      'ldap://directory.invalid',
      'ldap://127.0.0.1, ldap://directory.invalid',
      'LDAP://far.invalid',
    ]) {
      await configure({ url, starttls: false }).expect(204);
      expect((await warnings())[0]).toContain('in the clear');
    }
    await configure({ url: 'ldap://directory.invalid', starttls: true }).expect(204);
    expect(await warnings()).toBeNull();
    for (const url of ['ldaps://directory.invalid', 'ldap://127.0.0.1:1389, ldap://localhost, ldap://[::1]']) {
      await configure({ url, starttls: false }).expect(204);
      expect(await warnings()).toBeNull();
    }
  });

  it('issues a token for the directory password, with the policies of its groups', async () => {
    await secrets.root.write('auth/ldap/groups/ops', { policies: 'ops' }).expect(204);
    await secrets.root.write('auth/ldap/users/Ada', { policies: 'ada', groups: 'Local' }).expect(204);
    await secrets.root.write('auth/ldap/groups/LOCAL', { policies: 'local' }).expect(204);
    const { body } = await login('Ada', 'right').expect(200);
    expect(body.auth).toMatchObject({
      token_policies: ['ada', 'default', 'everyone', 'local', 'ops'],
      lease_duration: 1200,
      metadata: { username: 'ada' },
    });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0]).toMatchObject({ name: 'ada', metadata: { name: 'ada' } });
    expect(directory.searches.map(({ filter }) => filter)).toEqual([
      '(uid=ada)',
      `(|(memberUid=ada)(member=uid=ada,${people})(uniqueMember=uid=ada,${people}))`,
    ]);
    expect((await secrets.root.read('auth/ldap/users/ada').expect(200)).body.data).toEqual({
      groups: 'Local',
      policies: ['ada'],
    });
    expect((await secrets.root.list('auth/ldap/groups').expect(200)).body.data.keys).toEqual(['local', 'ops']);
    for (const name of ['users/ada', 'groups/ops', 'groups/local']) {
      await secrets.root.delete(`auth/ldap/${name}`).expect(204);
    }
    await secrets.root.list('auth/ldap/users').expect(404);
  });

  it.each([
    ['a wrong password', 'ada', 'wrong'],
    ['an unknown user', 'unknown', 'right'],
    ['a star', '*', 'right'],
    ['a changed comparison', 'ada)(uid=*', 'right'],
    ['the end of a filter', 'ada)\u0000', 'right'],
    ['an additional name part', 'ada,ou=people', 'right'],
    ['an escape', 'ad\\61', 'right'],
  ])('refuses %s in one sentence', async (_what, name, password) => {
    const answer = await login(name, password);
    expect(answer.status).toBe(400);
    expect(directory.searches.every(({ filter }) => filter.startsWith('(uid='))).toBe(true);
    if (!name.includes('\u0000')) expect(answer.body.errors[0]).toMatch(wrong);
  });

  it('refuses an empty password before the directory is asked', async () => {
    await login('ada', '').expect(400, /password cannot be of zero length/);
    expect(directory.binds).toEqual([]);
    await configure({ deny_null_bind: false }).expect(204);
    await login('ada', '').expect(200);
  });

  it('refuses a name that two entries have', async () => {
    directory.entries.push({ dn: `uid=ada,ou=guests,${people}`, password: 'right', attributes: { uid: ['ada'] } });
    await login('ada', 'right').expect(400, wrong);
  });

  it('follows no referrals', async () => {
    const elsewhere = new DirectoryStandIn();
    await elsewhere.start();
    try {
      directory.reference = `${elsewhere.address}/${people}`;
      await login('ada', 'right').expect(200);
      expect(elsewhere.connections).toBe(0);
    } finally {
      await elsewhere.stop();
    }
  });

  it('binds by a DN from the typed name, or as name@domain, without a search account', async () => {
    await configure({ binddn: '', bindpass: '' }).expect(204);
    const { body } = await login('ada', 'right').expect(200);
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0].name).toBe(`uid=ada,${people}`);
    await login('ada,ou=people,dc=acme', 'right').expect(400, wrong);
    expect(directory.binds.at(-1)!.dn).toBe(`uid=ada\\2cou\\3dpeople\\2cdc\\3dacme,${people}`);
    await configure({ binddn: '', bindpass: '', upndomain: 'acme.example' }).expect(204);
    await login('ada', 'right').expect(200);
    expect(directory.binds.at(-1)!.dn).toBe('ada@acme.example');
    expect(directory.searches.at(-2)!.filter).toBe('(userPrincipalName=ada@acme.example)');
  });

  it('can distinguish names by case, and name the alias as typed', async () => {
    await configure({ case_sensitive_names: true, username_as_alias: true }).expect(204);
    await secrets.root.write('auth/ldap/groups/ops', { policies: 'ops' }).expect(204);
    const { body } = await login('Ada', 'right').expect(200);
    expect(body.auth.token_policies).toEqual(['default', 'everyone']);
    await secrets.root.write('auth/ldap/groups/Ops', { policies: 'ops' }).expect(204);
    const again = await login('Ada', 'right').expect(200);
    expect(again.body.auth.token_policies).toEqual(['default', 'everyone', 'ops']);
    const entity = await secrets.root.read(`identity/entity/id/${again.body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases.map(({ name }: { name: string }) => name.toLowerCase())).toEqual(['ada']);
    await secrets.root.delete('auth/ldap/groups/ops').expect(204);
  });

  it('uses TLS with the configured CAs', async () => {
    await configure({ url: secure.address }).expect(204);
    await login('ada', 'right').expect(502, /the directory is unreachable: DEPTH_ZERO_SELF_SIGNED_CERT/);
    await configure({ url: secure.address, certificate: testCertificate.cert }).expect(204);
    await login('ada', 'right').expect(200);
    await configure({ starttls: true }).expect(204);
    await login('ada', 'right').expect(502);
    expect(directory.binds).toEqual([]);
    await configure({ starttls: true, certificate: testCertificate.cert }).expect(204);
    await login('ada', 'right').expect(200);
    expect(directory.binds.every(({ secure: encrypted }) => encrypted)).toBe(true);
  });

  it('sends no password over a new connection after StartTLS', async () => {
    await configure({ starttls: true, certificate: testCertificate.cert, request_timeout: 5 }).expect(204);
    directory.hangUpAfterBinds = 0;
    await login('ada', 'right').expect(502);
    expect(directory.binds.every(({ secure: encrypted }) => encrypted)).toBe(true);
    expect(directory.binds).toHaveLength(1);
  });

  describe('reuses connections', () => {
    const bindNames = () => directory.binds.map(({ dn }) => /^(?:cn|uid)=(\w+)/.exec(dn)?.[1]);

    it.each([
      ['in the clear', {}],
      ['after StartTLS', { starttls: true, certificate: testCertificate.cert }],
    ])('%s', async (_how, fields) => {
      await configure({ request_timeout: 7, ...fields }).expect(204);
      const before = directory.connections;
      await login('ada', 'right').expect(200);
      await login('bob', 'bobs').expect(200);
      expect(directory.connections - before).toBe(1);
      const [service, ...others] = bindNames();
      expect([service, ...others]).toEqual([service, 'ada', service, service, 'bob', service]);
      expect(directory.binds.every(({ secure: encrypted }) => encrypted === 'starttls' in fields)).toBe(true);
      // A connection that the directory has closed in the meantime is not a failure.
      directory.hangUp();
      await login('ada', 'right').expect(200);
      expect(directory.connections - before).toBe(2);
    });

    it('but not after a wrong password, or with another secret', async () => {
      await configure({ request_timeout: 8 }).expect(204);
      const before = directory.connections;
      await login('ada', 'wrong').expect(400, wrong);
      await login('ada', 'right').expect(200);
      expect(directory.connections - before).toBe(2);
      await configure({ request_timeout: 8, bindpass: 'old' }).expect(204);
      await login('ada', 'right').expect(502, /InvalidCredentialsError/);
      expect(directory.connections - before).toBe(3);
    });

    it('nor if the directory no longer accepts the search account', async () => {
      await configure({ request_timeout: 9 }).expect(204);
      await login('ada', 'right').expect(200);
      const before = directory.connections;
      directory.failure = 49;
      await login('ada', 'right').expect(502, /InvalidCredentialsError/);
      directory.failure = undefined;
      await login('ada', 'right').expect(200);
      expect(directory.connections - before).toBe(1);
    });

    it('nor for anonymous searches', async () => {
      await configure({ request_timeout: 10, binddn: '', bindpass: '', discoverdn: true }).expect(204);
      const before = directory.connections;
      await login('ada', 'right').expect(200);
      await login('bob', 'bobs').expect(200);
      expect(directory.connections - before).toBe(2);
    });
  });

  it('asks the next address if one does not answer', async () => {
    await configure({ url: `ldap://127.0.0.1:1,${directory.address}` }).expect(204);
    await login('ada', 'right').expect(200);
  });

  it.each([
    ['is down', () => configure({ url: 'ldap://127.0.0.1:1' }), /the directory.*ECONNREFUSED/],
    ['is busy', () => Object.assign(directory, { failure: 51 }), /BusyError/],
    [
      'does not answer',
      () => Object.assign(directory, { silent: true }) && configure({ request_timeout: 1 }),
      /the directory/,
    ],
    ['does not accept our login', () => configure({ bindpass: 'old' }), /InvalidCredentialsError/],
  ])('says 502 while the directory %s, and counts nothing', async (_what, break_, text) => {
    await break_();
    for (let i = 0; i < 6; i++) {
      const { body } = await login('ada', 'right').expect(502);
      if (i === 0) expect(body.errors[0]).toMatch(text);
      expect(body.errors[0]).not.toContain('dc=directory');
    }
    Object.assign(directory, { failure: undefined, silent: false });
    const second = new DirectoryStandIn();
    second.entries = entries();
    await second.start();
    await configure({ url: second.address, request_timeout: 90 }).expect(204);
    await login('ada', 'right').expect(200);
    await second.stop();
  });

  it('counts wrong passwords and locks the name for a while', async () => {
    for (let i = 0; i < 5; i++) await login('bob', 'wrong').expect(400, wrong);
    const bindsBefore = directory.binds.length;
    await login('BOB', 'bobs').expect(400, wrong);
    expect(directory.binds).toHaveLength(bindsBefore);
  });

  it('counts spellings together if a directory treats them as one name', async () => {
    directory.entries.push({ dn: `uid=strasse,${people}`, password: 'right', attributes: { uid: ['strasse'] } });
    for (const name of ['strasse ', ' strasse', '  strasse', 'stra\u00dfe', 'STRASSE  '])
      await login(name, 'wrong').expect(400);
    await login('strasse', 'right').expect(400, wrong);
  });

  it('limits its connections', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => login(`unknown${i}`, 'x')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
    expect(directory.mostAtOnce).toBeLessThanOrEqual(32);
  });

  it('adds people to external groups, and removes them at the next renewal', async () => {
    const mounts = await secrets.root.read('sys/auth').expect(200);
    const created = await secrets.root
      .write('identity/group', { name: 'ldap-ops', type: 'external', policies: 'ops-policy' })
      .expect(200);
    const alias = {
      name: 'ops',
      mount_accessor: mounts.body.data['ldap/'].accessor,
      canonical_id: created.body.data.id,
    };
    await secrets.root.write('identity/group-alias', alias).expect(200);
    const { body } = await login('ada', 'right').expect(200);
    expect(body.auth.identity_policies).toEqual(['ops-policy']);
    const caller = secrets.as(body.auth.client_token);
    const renew = () => caller.write('auth/token/renew-self', {});
    await renew().expect(200);
    directory.entries = directory.entries.filter(({ dn }) => !dn.startsWith('cn=Ops'));
    await renew().expect(200);
    const self = await caller.read('auth/token/lookup-self').expect(200);
    expect(self.body.data.identity_policies ?? []).toEqual([]);
    await secrets.root.write('auth/ldap/groups/staff', { policies: 'staff' }).expect(204);
    await renew().expect(400, /policies have changed, not renewing/);
    await secrets.root.delete('auth/ldap/groups/staff').expect(204);
    directory.failure = 52;
    await renew().expect(502);
    directory.failure = undefined;
    directory.entries = directory.entries.filter(({ dn }) => !dn.startsWith('uid=ada'));
    await renew().expect(400, /no longer exists in the directory/);
  });

  it('accepts ten thousand groups', async () => {
    const { entries } = directory;
    for (let i = 0; i < 10_000; i++) {
      entries.push({ dn: `cn=g${i},${groups}`, attributes: { cn: [`g${i}`], memberUid: ['ada'] } });
    }
    await login('ada', 'right').expect(200);
  });
});

describe('strings in filters of a directory', () => {
  it('are always escaped', () => {
    expect(filterText('a*()\\\0é')).toBe('a\\2a\\28\\29\\5c\\00é');
    expect(nameText(' a,b+c="<>;\\#')).toBe('\\20a\\2cb\\2bc\\3d\\22\\3c\\3e\\3b\\5c\\23');
  });

  it('of security identifiers have the form of directories', () => {
    const sid = Buffer.from('010500000000000515000000dcf4dc3b833d2b46828ba62800020000', 'hex');
    expect(sidText(sid)).toBe('S-1-5-21-1004336348-1177238915-682003330-512');
    expect(sidText(sid.subarray(0, 12))).toBe('S-1-5-21');
  });
});
