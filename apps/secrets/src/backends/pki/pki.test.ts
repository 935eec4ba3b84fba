import { beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenSsl } from '../../../test/openssl';
import { startSecrets } from '../../../test/start-secrets';

describe('certificates', () => {
  const secrets = startSecrets();
  const { run, file, certificate: described, request } = startOpenSsl();
  const write = (path: string, body: object = {}) => secrets.root.write(`pki/${path}`, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  let root: { certificate: string; issuer_id: string; key_id: string };

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    root = await must('root/generate/internal', { common_name: 'Root X1', ttl: '87600h', key_type: 'ec' });
    await must('roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '72h', allowed_uri_sans: '*' });
  });

  it.each([
    ['rsa', 2048, 'RSA PRIVATE KEY'],
    ['ec', 224, 'EC PRIVATE KEY'],
    ['ec', 256, 'EC PRIVATE KEY'],
    ['ec', 384, 'EC PRIVATE KEY'],
    ['ec', 521, 'EC PRIVATE KEY'],
    ['ed25519', 0, 'PRIVATE KEY'],
  ])('OpenSSL verifies a leaf with a key of %s %s, and it is stored (E5.1)', async (key_type, key_bits, label) => {
    await must('roles/kind', { allow_any_name: true, key_type, key_bits });
    const leaf = await must('issue/kind', { common_name: 'x.example.com', ttl: '1h', ip_sans: '10.0.0.1,::1' });
    const trusted = file(root.certificate);
    expect(run('verify', '-x509_strict', '-CAfile', trusted, file(leaf.certificate))).toMatch(/OK/);
    expect(leaf.private_key).toContain(`-----BEGIN ${label}-----`);
    expect(leaf.ca_chain).toEqual([root.certificate]);
    const publicKey = run('pkey', '-in', file(leaf.private_key), '-pubout');
    expect(run('x509', '-in', file(leaf.certificate), '-noout', '-pubkey')).toBe(publicKey);
    expect(described(leaf.certificate)).toContain('DNS:x.example.com, IP Address:10.0.0.1, IP Address:0:0:0:0:0:0:0:1');
    const spelled = leaf.serial_number.replaceAll(':', '-').toUpperCase();
    const kept = await secrets.anonymous.read(`pki/cert/${spelled}`).expect(200);
    expect(kept.body.data).toEqual({ certificate: leaf.certificate, revocation_time: 0, revocation_time_rfc3339: '' });
    const raw = await secrets.anonymous.read(`pki/cert/${leaf.serial_number}/raw`).responseType('blob').expect(200);
    expect(raw.headers['content-type']).toBe('application/pkix-cert');
    expect(run('x509', '-inform', 'DER', '-in', file(raw.body), '-outform', 'PEM').trim()).toBe(leaf.certificate);
    const { body } = await secrets.root.list('pki/certs').expect(200);
    expect(body.data.keys).toContain(leaf.serial_number);
  });

  it('a root has the extensions of a CA, and everyone can read it (E4.10)', async () => {
    const text = described(root.certificate);
    for (const part of [
      /Basic Constraints: critical\s+CA:TRUE\n/,
      /Key Usage: critical\s+Certificate Sign, CRL Sign\n/,
      /Subject Key Identifier:/,
      /Authority Key Identifier:/,
      /Signature Algorithm: ecdsa-with-SHA256/,
      /Subject: CN=Root X1/,
    ]) {
      expect(text).toMatch(part);
    }
    for (const path of ['ca/pem', 'ca_chain', 'issuer/default/pem', 'cert/ca/raw/pem']) {
      expect((await secrets.anonymous.read(`pki/${path}`).expect(200)).text).toBe(root.certificate);
    }
    const listed = await secrets.anonymous.list('pki/issuers').expect(200);
    expect(listed.body.data.keys).toEqual([root.issuer_id]);
    expect(listed.body.data.key_info[root.issuer_id]).toMatchObject({ key_id: root.key_id, is_default: true });
    const issuer = await secrets.root.read('pki/issuer/default').expect(200);
    expect(issuer.body.data).toMatchObject({
      ca_chain: [root.certificate],
      usage: 'crl-signing,issuing-certificates,ocsp-signing,read-only',
      revocation_signature_algorithm: 'ECDSAWithSHA256',
      leaf_not_after_behavior: 'err',
      manual_chain: null,
      revoked: false,
    });
    await secrets.anonymous.list('pki/certs').expect(403);
    await secrets.anonymous.write('pki/issue/any', { common_name: 'a.test' }).expect(403);
  });

  it('before there is an issuer, public endpoints are empty, and nothing is issued', async () => {
    await secrets.root.write('sys/mounts/none', { type: 'pki' }).expect(204);
    for (const path of ['ca', 'ca/pem', 'ca_chain']) await secrets.anonymous.read(`none/${path}`).expect(204);
    for (const path of ['cert/ca', 'cert/ca_chain', 'cert/crl', 'cert/delta-crl', 'issuer/default/crl']) {
      const { body } = await secrets.anonymous.read(`none/${path}`).expect(400);
      expect(body.errors).toEqual(['no default issuer currently configured']);
    }
    await secrets.anonymous.list('none/issuers').expect(404);
    const made = await secrets.root.write('none/roles/a', { allow_any_name: true }).expect(200);
    expect(made.body.warnings[0]).toMatch(/no default issuing certificate/);
    const { body } = await secrets.root.write('none/issue/a', { common_name: 'a.test' }).expect(400);
    expect(body.errors[0]).toMatch(/no default issuer currently configured/);
  });

  const domains = { allowed_domains: 'example.com,*.glob.test', key_type: 'ec' };
  const noWay = /not allowed by this role|idna: invalid label/;
  it.each<[what: string, role: object, asked: object, answer: RegExp | string]>([
    ['a bare domain that is not allowed', domains, { common_name: 'example.com' }, noWay],
    ['a bare domain', { ...domains, allow_bare_domains: true }, { common_name: 'EXAMPLE.com' }, 'DNS:EXAMPLE.com'],
    [
      'a name below an allowed domain',
      { ...domains, allow_subdomains: true },
      { common_name: 'a.b.Example.COM' },
      'DNS:a.b.Example.COM',
    ],
    [
      'a name that only ends like an allowed domain',
      { ...domains, allow_subdomains: true },
      { common_name: 'aexample.com' },
      noWay,
    ],
    [
      'an allowed domain followed by other text',
      { ...domains, allow_subdomains: true },
      { common_name: 'a.example.com.evil.test' },
      noWay,
    ],
    ['a dot at the end', { ...domains, allow_subdomains: true }, { common_name: 'a.example.com.' }, noWay],
    ['a NUL', { ...domains, allow_subdomains: true }, { common_name: 'evil.test\0.example.com' }, noWay],
    [
      'a NUL, if any name is allowed',
      { allow_any_name: true, enforce_hostnames: false, key_type: 'ec' },
      { common_name: 'a\0b' },
      noWay,
    ],
    [
      'a NUL, if any common name is allowed',
      { cn_validations: 'disabled', key_type: 'ec' },
      { common_name: 'a\0b' },
      noWay,
    ],
    [
      'a right-to-left mark',
      { allow_any_name: true, enforce_hostnames: false, key_type: 'ec' },
      { common_name: 'a\u202eb' },
      noWay,
    ],
    [
      'letters of other scripts',
      { allow_any_name: true, key_type: 'ec' },
      { common_name: 'bücher.test' },
      'DNS:xn--bcher-kva.test',
    ],
    [
      'lookalikes of an allowed domain',
      { ...domains, allow_subdomains: true },
      { common_name: 'a.exаmple.com' },
      noWay,
    ],
    ['an empty label', { allow_any_name: true, key_type: 'ec' }, { common_name: 'a..b' }, noWay],
    [
      'a label of 64 characters',
      { allow_any_name: true, key_type: 'ec' },
      { common_name: `${'a'.repeat(64)}.test` },
      noWay,
    ],
    ['a space', { allow_any_name: true, key_type: 'ec' }, { common_name: 'a b' }, noWay],
    [
      'a wildcard below an allowed domain',
      { ...domains, allow_subdomains: true },
      { common_name: '*.example.com' },
      'DNS:*.example.com',
    ],
    [
      'a wildcard that is not allowed',
      { ...domains, allow_subdomains: true, allow_wildcard_certificates: false },
      { common_name: '*.example.com' },
      noWay,
    ],
    ['a wildcard in the middle', { ...domains, allow_subdomains: true }, { common_name: 'a.*.example.com' }, noWay],
    ['a wildcard after a dash', { allow_any_name: true, key_type: 'ec' }, { common_name: '-*.example.com' }, noWay],
    ['two wildcards', { allow_any_name: true, key_type: 'ec' }, { common_name: '*.*.example.com' }, noWay],
    ['a glob', { ...domains, allow_glob_domains: true }, { common_name: 'a.b.glob.test' }, 'DNS:a.b.glob.test'],
    ['localhost', { key_type: 'ec' }, { common_name: 'localhost' }, 'DNS:localhost'],
    ['localhost that is not allowed', { key_type: 'ec', allow_localhost: false }, { common_name: 'localhost' }, noWay],
    [
      'mail of a bare domain',
      { ...domains, allow_bare_domains: true },
      { common_name: 'me@example.com' },
      'email:me@example.com',
    ],
    [
      'a mail address of another domain',
      { ...domains, allow_bare_domains: true },
      { common_name: 'me@evil.test' },
      noWay,
    ],
    [
      'a mail address with two @',
      { ...domains, allow_bare_domains: true },
      { common_name: 'me@evil.test@example.com' },
      noWay,
    ],
    [
      'an IP address',
      { ...domains, allow_localhost: true },
      { common_name: 'localhost', ip_sans: '10.1.2.3' },
      'IP Address:10.1.2.3',
    ],
    [
      'an IP address that is not allowed',
      { key_type: 'ec', allow_ip_sans: false },
      { common_name: 'localhost', ip_sans: '10.1.2.3' },
      /IP Subject Alternative Names are not allowed/,
    ],
    [
      'an IP address as a name that is not allowed',
      { key_type: 'ec', allow_any_name: true, allow_ip_sans: false },
      { common_name: '10.1.2.3' },
      noWay,
    ],
    [
      'an IP address outside the allowed ranges',
      { key_type: 'ec', allowed_ip_sans_cidr: '10.0.0.0/8' },
      { common_name: 'localhost', ip_sans: '192.168.0.1' },
      'the IP address "192.168.0.1" is not allowed in this role',
    ],
    [
      'an invalid IP address',
      { key_type: 'ec' },
      { common_name: 'localhost', ip_sans: '10.0.0' },
      'the value "10.0.0" is not a valid IP address',
    ],
    [
      'a URI',
      { key_type: 'ec', allowed_uri_sans: 'spiffe://a/*' },
      { common_name: 'localhost', uri_sans: 'spiffe://a/b' },
      'URI:spiffe://a/b',
    ],
    [
      'a URI that does not match',
      { key_type: 'ec', allowed_uri_sans: 'spiffe://a/*' },
      { common_name: 'localhost', uri_sans: 'spiffe://b' },
      /which are not valid for this role/,
    ],
    [
      'a URI that is not allowed',
      { key_type: 'ec' },
      { common_name: 'localhost', uri_sans: 'spiffe://b' },
      /URI Subject Alternative Names are not allowed/,
    ],
    [
      'an otherName',
      { key_type: 'ec', allowed_other_sans: '1.2.3.4;utf8:*@a' },
      { common_name: 'localhost', other_sans: '1.2.3.4;UTF8:me@a' },
      'othername: 1.2.3.4:',
    ],
    [
      'an otherName that is not allowed',
      { key_type: 'ec' },
      { common_name: 'localhost', other_sans: '1.2.3.4;UTF8:me@a' },
      'other SAN OID 1.2.3.4 not allowed by this role',
    ],
    [
      'a serial number',
      { key_type: 'ec', allowed_serial_numbers: 'A*' },
      { common_name: 'localhost', serial_number: 'A1' },
      'serialNumber=A1',
    ],
    [
      'a serial number that is not allowed',
      { key_type: 'ec', allowed_serial_numbers: 'A*' },
      { common_name: 'localhost', serial_number: 'B1' },
      'serial_number B1 not allowed by this role',
    ],
    ['a user id', { key_type: 'ec', allowed_user_ids: 'me' }, { common_name: 'localhost', user_ids: 'me' }, 'UID=me'],
    [
      'a user id that is not allowed',
      { key_type: 'ec', allowed_user_ids: 'me' },
      { common_name: 'localhost', user_ids: 'you' },
      'user_id you is not allowed by this role',
    ],
    ['no name', { key_type: 'ec' }, {}, /the common_name field is required/],
  ])('a role limits %s, which its dry run announces (E5.2)', async (_what, role, asked, answer) => {
    await must('roles/judge', role);
    const { body, status } = await write('issue/judge', { ...asked, ttl: '1h' });
    const dryRun = await write('roles/judge/dry-run', { ...asked, ttl: '1h' });
    expect([dryRun.status, dryRun.body.errors]).toEqual([status, body.errors]);
    const text = status === 200 ? described(body.data.certificate) : body.errors[0];
    if (typeof answer === 'string') expect(text).toContain(answer);
    else expect(text).toMatch(answer);
    expect(status).toBe(typeof answer === 'string' && text === answer ? 400 : answer instanceof RegExp ? 400 : 200);
  });

  it('a dry run of a role shows the names, issuer and validity that a certificate would have, and issues none', async () => {
    await must('roles/dry', { ...domains, allow_subdomains: true, max_ttl: '2h', organization: 'Quay' });
    const serials = async () => (await secrets.root.list('pki/certs').expect(200)).body.data.keys;
    const before = await serials();
    const asked = { common_name: 'a.example.com', alt_names: 'b.example.com,me@c.example.com', ip_sans: '10.1.2.3' };
    const { body } = await write('roles/dry/dry-run', { ...asked, ttl: '9h' }).expect(200);
    expect(body.data).toMatchObject({
      issuer_id: root.issuer_id,
      subject: 'CN=a.example.com,O=Quay',
      dns_names: ['a.example.com', 'b.example.com'],
      email_addresses: ['me@c.example.com'],
      ip_addresses: ['10.1.2.3'],
      uris: [],
    });
    const hours = (Date.parse(body.data.not_after) - Date.parse(body.data.not_before)) / 3_600_000;
    expect(hours).toBeCloseTo(2, 1);
    expect(body.warnings[0]).toMatch(/is longer than permitted maxTTL/);
    const [csr, other] = ['a.example.com', 'a.evil.test'].map((name) => request({ subject: `/CN=${name}` }).csr);
    expect(await must('roles/dry/dry-run', { csr })).toMatchObject({ dns_names: ['a.example.com'] });
    expect(await refused('roles/dry/dry-run', { csr: other })).toEqual(await refused('sign/dry', { csr: other }));
    expect(await refused('roles/dry/dry-run', { ...asked, uri_sans: 'https://bücher.test' })).toMatch(/URI/);
    expect(await serials()).toEqual(before);
  });

  it('a certificate has the subject, uses and policies of its role (E5.3)', async () => {
    await must('roles/full', {
      allow_any_name: true,
      key_type: 'ec',
      country: 'DE,AT',
      organization: 'Übung',
      ou: 'a',
      locality: 'l',
      province: 'p',
      street_address: 's',
      postal_code: '1',
      key_usage: 'KeyUsageDigitalSignature',
      ext_key_usage: 'TimeStamping',
      ext_key_usage_oids: '1.2.3.4.5',
      client_flag: false,
      policy_identifiers: ['1.2.3', '{"oid":"1.2.4","cps":"https://a.test","notice":"read this"}'],
      basic_constraints_valid_for_non_ca: true,
    });
    const text = described((await must('issue/full', { common_name: 'a.test' })).certificate);
    for (const part of [
      'Subject: CN=a.test,OU=a,O=\\C3\\9Cbung,postalCode=1,street=s,L=l,ST=p,C=DE+C=AT',
      'CA:FALSE',
      'TLS Web Server Authentication, Time Stamping, 1.2.3.4.5',
      'Policy: 1.2.3\n',
      'CPS: https://a.test',
      'Explicit Text: read this',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature\n/);
  });

  it('a role reads as it was written, with its defaults, and is changed field by field (E5.4)', async () => {
    const made = await must('roles/round', { allowed_domains: ['a.test'], ttl: '90m', key_type: 'ec' });
    expect(made).toMatchObject({
      ...{ allowed_domains: ['a.test'], ttl: 5400, max_ttl: 0, key_bits: 256, signature_bits: 0, require_cn: true },
      ...{ key_usage: ['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'], cn_validations: ['email', 'hostname'] },
      ...{ not_before_duration: 30, issuer_ref: 'default', not_after_bound: 'permit', no_store: false, ou: [] },
    });
    expect((await secrets.root.read('pki/roles/round').expect(200)).body.data).toEqual(made);
    const patched = await secrets.root.patch('pki/roles/round', { max_ttl: '2h' }).expect(200);
    expect(patched.body.data).toEqual({ ...made, max_ttl: 7200 });
    await secrets.root.patch('pki/roles/none', { max_ttl: '2h' }).expect(404);
    expect(await must('roles/round', { ttl: '1h' })).toMatchObject({
      allowed_domains: [],
      key_type: 'rsa',
      key_bits: 2048,
    });
    await secrets.root.delete('pki/roles/round').expect(204);
    await secrets.root.read('pki/roles/round').expect(404);
    expect(await refused('issue/round', { common_name: 'a.test' })).toBe('unknown role: round');
  });

  it.each<[object, RegExp]>([
    [{ ttl: '2h', max_ttl: '1h' }, /"ttl" value must be less than "max_ttl" value/],
    [{ key_bits: 1024 }, /RSA keys < 2048 bits are unsafe and not supported: got 1024/],
    [{ key_type: 'dsa' }, /unknown key type dsa/],
    [{ key_type: 'ec', key_bits: 100 }, /unsupported bit length for EC key: 100/],
    [{ cn_validations: 'disabled,email' }, /cannot specify `disabled` along with `email` or `hostname`/],
    [{ not_after_bound: 'x' }, /Unknown value for field `not_after_bound`/],
    [{ key_usage: 'DigitalSignatur' }, /unknown key usage DigitalSignatur/],
    [{ ext_key_usage_oids: '1.x' }, /could not be parsed as a valid oid/],
    [{ allowed_ip_sans_cidr: '10.0.0.0' }, /invalid CIDR address: 10.0.0.0/],
    [{ allowed_other_sans: '1.2.3' }, /expected a semicolon in other SAN "1.2.3"/],
    [{ policy_identifiers: 'x' }, /policy_identifiers/],
  ])('a role %j is refused, and nothing is stored (E5.4)', async (body, text) => {
    expect(await refused('roles/bad', body)).toMatch(text);
    await secrets.root.read('pki/roles/bad').expect(404);
  });

  it('a role fills in its callers in templates, and refuses a caller without the value (E5.5)', async () => {
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    await secrets.root.write('sys/policies/acl/issue', { policy: 'path "pki/issue/*" { capabilities = ["update"] }' });
    await secrets.root.write('auth/people/users/ann', { password: 'a-long-password', token_policies: 'issue' });
    const { auth } = (await secrets.anonymous.write('auth/people/login/ann', { password: 'a-long-password' })).body;
    const ann = secrets.as(auth.client_token);
    const fact = (metadata: object) => secrets.root.write(`identity/entity/id/${auth.entity_id}`, { metadata });
    const template = {
      ...{
        allowed_domains: '{{identity.entity.metadata.host}}.example.com',
        allowed_domains_template: true,
        key_type: 'ec',
      },
      ...{ allow_bare_domains: true, allow_glob_domains: true, allowed_uri_sans_template: true },
      allowed_uri_sans: 'spiffe://{{identity.entity.id}}',
    };
    await must('roles/own', template);
    const ask = (body: object, caller = ann) => caller.write('pki/issue/own', body);
    await ask({ common_name: 'db.example.com' }).expect(400);
    await fact({ host: 'db' });
    await ask({ common_name: 'db.example.com', uri_sans: `spiffe://${auth.entity_id}` }).expect(200);
    await ask({ common_name: 'web.example.com' }).expect(400);
    await ask({ common_name: 'db.example.com', uri_sans: 'spiffe://x' }).expect(400);
    await ask({ common_name: 'db.example.com' }, secrets.root).expect(400);
    await ask({ common_name: '{{identity.entity.metadata.host}}.example.com' }, secrets.root).expect(400);
    await fact({ host: '*' });
    await ask({ common_name: 'web.example.com' }).expect(400);
    await must('roles/own', { ...template, allow_globs_in_identity_templates: true });
    await ask({ common_name: 'web.example.com' }).expect(200);
  });

  it('a certificate is valid as long as request, role, mount and issuer allow (E5.6)', async () => {
    const issued = async (body: object) =>
      (await write('issue/any', { common_name: 'a.test', ...body }).expect(200)).body;
    const long = await issued({ ttl: '100h' });
    expect(long.warnings[0]).toBe('TTL "100h0m0s" is longer than permitted maxTTL "72h0m0s", so maxTTL is being used');
    expect(long.data.expiration - long.data.not_before).toBe(72 * 3600 + 30);
    const until = await issued({ not_after: '2027-01-01T00:00:00Z' });
    expect(until.data.expiration).toBe(Date.parse('2027-01-01') / 1000);
    expect(await refused('issue/any', { common_name: 'a.test', ttl: '1h', not_after: '2027-01-01T00:00:00Z' })).toMatch(
      /^Either ttl or not_after should be provided/,
    );
    expect(await refused('issue/any', { common_name: 'a.test', not_after: '9999-01-01T00:00:00Z' })).toMatch(
      /beyond the expiration of the CA certificate at/,
    );
    expect(await refused('issue/any', { common_name: 'a.test', not_after: 'soon' })).toMatch(/parsing time "soon"/);
    await secrets.root.patch('pki/issuer/default', { leaf_not_after_behavior: 'truncate' }).expect(200);
    const cut = await issued({ not_after: '9999-01-01T00:00:00Z' });
    const end = run('x509', '-in', file(root.certificate), '-noout', '-enddate');
    expect(run('x509', '-in', file(cut.data.certificate), '-noout', '-enddate')).toBe(end);
    await secrets.root.patch('pki/issuer/default', { leaf_not_after_behavior: 'err' }).expect(200);
  });

  it('a CSR is signed as far as the role allows, and never as a CA (E5.7)', async () => {
    const extensions = [
      'basicConstraints=critical,CA:TRUE',
      'keyUsage=critical,keyCertSign',
      'subjectAltName=DNS:b.test,IP:10.0.0.9,email:me@b.test,URI:urn:x',
      'nameConstraints=permitted;DNS:evil.test',
    ].join('\n');
    const { csr } = request({ subject: '/O=Evil/CN=a.test', extensions });
    const { body } = await write('sign/any', { csr, common_name: 'ignored.test' }).expect(200);
    const text = described(body.data.certificate);
    expect(text).toContain('DNS:b.test, DNS:a.test, email:me@b.test, IP Address:10.0.0.9, URI:urn:x');
    expect(text).toContain('Subject: CN=a.test\n');
    expect(text).not.toMatch(/CA:TRUE|Certificate Sign|Name Constraints/);
    expect(body.warnings).toHaveLength(3);
    expect(body.data).not.toHaveProperty('private_key');

    const verbatim = described((await must('sign-verbatim', { csr })).certificate);
    expect(verbatim).toContain('Subject: CN=a.test,O=Evil');
    expect(verbatim).toContain('DNS:b.test, IP Address:10.0.0.9, email:me@b.test, URI:urn:x');
    expect(verbatim).not.toMatch(/CA:TRUE/);

    await must('roles/own', { allow_any_name: true, key_type: 'ec', use_csr_common_name: false, use_csr_sans: false });
    const own = described((await must('sign/own', { csr, common_name: 'c.test', alt_names: 'd.test' })).certificate);
    expect(own).toContain('DNS:c.test, DNS:d.test\n');
    expect(own).toContain('Subject: CN=c.test\n');
  });

  it('a CSR with a wrong key or signature is refused (E5.8)', async () => {
    const { csr } = request({ subject: '/CN=a.test' });
    const der = Buffer.from(csr.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    der[der.length - 3]! ^= 1;
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
    expect(await refused('sign/any', { csr: forged })).toBe('request signature invalid');
    expect(await refused('sign/any', {})).toBe('"csr" is empty');
    expect(await refused('sign/any', { csr: 'x' })).toBe('csr contains no data');
    expect(await refused('sign/any', { csr: '-----BEGIN A-----\nYWJj\n-----END A-----' })).toMatch(
      /^certificate request could not be parsed/,
    );
    await must('roles/rsa', { allow_any_name: true });
    expect(await refused('sign/rsa', { csr })).toBe('role requires keys of type rsa');
    await must('roles/p384', { allow_any_name: true, key_type: 'ec', key_bits: 384 });
    expect(await refused('sign/p384', { csr })).toBe(
      "role requires a minimum of a 384-bit key, but CSR's key is 256 bits",
    );
    const weak = request({ subject: '/CN=a.test', key: ['RSA', '-pkeyopt', 'rsa_keygen_bits:1024'] });
    expect(await refused('sign-verbatim', { csr: weak.csr })).toMatch(/RSA keys < 2048 bits/);
  });

  it('all formats of an answer have the same content', async () => {
    const der = await must('issue/any', { common_name: 'a.test', format: 'der', private_key_format: 'pkcs8' });
    const bytes = Buffer.from(der.certificate, 'base64');
    expect(run('x509', '-inform', 'DER', '-in', file(bytes), '-noout', '-subject')).toContain('a.test');
    expect(
      run('pkey', '-inform', 'DER', '-in', file(Buffer.from(der.private_key, 'base64')), '-noout', '-check'),
    ).toMatch(/valid/);
    const bundle = await must('issue/any', { common_name: 'a.test', format: 'pem_bundle' });
    expect(bundle.certificate.match(/BEGIN [A-Z ]+/g)).toEqual([
      'BEGIN EC PRIVATE KEY',
      'BEGIN CERTIFICATE',
      'BEGIN CERTIFICATE',
    ]);
    const bare = await must('issue/any', { common_name: 'a.test', remove_roots_from_chain: true });
    expect(bare).not.toHaveProperty('ca_chain');
    expect(await refused('issue/any', { common_name: 'a.test', format: 'x' })).toMatch(
      /"format" path parameter must be/,
    );
  });

  it('no_store stores nothing (E5.9)', async () => {
    await must('roles/fleeting', { allow_any_name: true, key_type: 'ec', no_store: true });
    const { serial_number: serial } = await must('issue/fleeting', { common_name: 'a.test' });
    await secrets.anonymous.read(`pki/cert/${serial}`).expect(404);
    expect((await secrets.root.list('pki/certs').expect(200)).body.data.keys).not.toContain(serial);
  });

  it('certificates have the URLs of the mount, or those of their issuer', async () => {
    await must('config/cluster', { path: 'https://keys.test/v1/pki', aia_path: 'http://aia.test/pki' });
    await must('config/urls', {
      issuing_certificates: '{{cluster_aia_path}}/issuer/{{issuer_id}}/der',
      crl_distribution_points: '{{cluster_aia_path}}/crl',
      delta_crl_distribution_points: '{{cluster_aia_path}}/crl/delta',
      ocsp_servers: '{{cluster_path}}/ocsp',
      enable_templating: true,
    });
    const text = described((await must('issue/any', { common_name: 'a.test' })).certificate);
    expect(text).toContain(`CA Issuers - URI:http://aia.test/pki/issuer/${root.issuer_id}/der`);
    expect(text).toContain('OCSP - URI:https://keys.test/v1/pki/ocsp');
    expect(text).toMatch(/X509v3 CRL Distribution Points:[^X]*URI:http:\/\/aia.test\/pki\/crl\n/);
    expect(text).toMatch(/X509v3 Freshest CRL:[^X]*URI:http:\/\/aia.test\/pki\/crl\/delta\n/);
    const lacking = await write('config/urls', { ocsp_servers: 'nowhere' }).expect(200);
    expect(lacking.body.warnings).toEqual([
      'issuance may fail: error validating templated ocsp_servers; invalid URI: nowhere\n\nConsider setting the cluster-local address if it is not already set.',
    ]);
    expect(await refused('issue/any', { common_name: 'a.test' })).toBe(
      'error fetching CA certificate: unable to fetch AIA URL information: error validating templated ocsp_servers; invalid URI: nowhere',
    );
    const plain = { issuing_certificates: [], crl_distribution_points: [], delta_crl_distribution_points: [] };
    expect(await refused('config/urls', { ...plain, ocsp_servers: 'nowhere', enable_templating: false })).toBe(
      'invalid URL found in Authority Information Access (AIA) parameter ocsp_servers: nowhere',
    );
    await must('config/urls', {
      issuing_certificates: [],
      crl_distribution_points: [],
      delta_crl_distribution_points: [],
      ocsp_servers: [],
      enable_templating: false,
    });
  });
});
