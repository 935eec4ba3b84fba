import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { type AlgorithmType, parseCertificate, parseKey, parsePrivateKey, parseSignature } from 'sshpk';
import { readSshCertificate } from '../../../test/ssh-certificate';
import { startSecrets } from '../../../test/start-secrets';
import { sized } from './wire';

const pairs = {
  ed25519: generateKeyPairSync('ed25519'),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
};
const lineOf = (key: KeyObject): string =>
  parseKey(String(key.export({ type: 'spki', format: 'pem' })), 'pem')
    .toString('ssh')
    .split(' ')
    .slice(0, 2)
    .join(' ');
const lines = Object.fromEntries(Object.entries(pairs).map(([name, { publicKey }]) => [name, lineOf(publicKey)]));
const skLine = (type: string, ...fields: (Buffer | string)[]) =>
  `${type} ${Buffer.concat([type, ...fields].map(sized)).toString('base64')}`;
const rawEd25519 = Buffer.from(lines.ed25519!.split(' ')[1]!, 'base64').subarray(-32);
const token = skLine('sk-ssh-ed25519@openssh.com', rawEd25519, 'ssh:');
const hashes: Readonly<Record<string, 'sha256' | 'sha384' | 'sha512'>> = {
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
  'ssh-ed25519': 'sha512',
};
/** Whether this key signed the certificate, checked with another library. */
function isSignedBy(line: string, issuer: string): boolean {
  const { signed, signature, signatureType } = readSshCertificate(line);
  const key = parseKey(issuer, 'ssh');
  const verifier = key.createVerify(hashes[signatureType]!);
  verifier.update(signed);
  return verifier.verify(parseSignature(signature, key.type as AlgorithmType, 'ssh'));
}
const user = { key_type: 'ca', allow_user_certificates: true };
const anyUser = { ...user, allowed_users: '*' };
let made = 0;

describe('the engine ssh', () => {
  const clock = manualClock(Date.UTC(2027, 5, 1));
  const secrets = startSecrets({ clock });
  let at = '';
  const write = (path: string, body: object = {}) => secrets.root.write(`${at}/${path}`, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  const role = async (fields: object) => {
    const name = `r${++made}`;
    await write(`roles/${name}`, fields).expect(204);
    return name;
  };
  const sign = async (fields: object, asked: object = {}) => {
    const { signed_key } = await must(`sign/${await role(fields)}`, { public_key: lines.ed25519, ...asked });
    return readSshCertificate(signed_key);
  };
  const refusedToSign = async (fields: object, asked: object = {}) =>
    refused(`sign/${await role(fields)}`, { public_key: lines.ed25519, ...asked });
  const mount = async () => {
    at = `ssh${++made}`;
    await secrets.root.write(`sys/mounts/${at}`, { type: 'ssh' }).expect(204);
    await must('config/ca', { key_type: 'ed25519' });
  };
  beforeAll(mount);

  describe('certificates', () => {
    it.each([
      [{ key_type: 'rsa', key_bits: 2048 }, 'default', 'rsa-sha2-256'],
      [{ key_type: 'rsa', key_bits: 2048 }, 'rsa-sha2-512', 'rsa-sha2-512'],
      [{ key_type: 'ec' }, 'default', 'ecdsa-sha2-nistp256'],
      [{ key_type: 'ecdsa-sha2-nistp384' }, 'default', 'ecdsa-sha2-nistp384'],
      [{ key_type: 'ec', key_bits: 521 }, 'default', 'ecdsa-sha2-nistp521'],
      [{ key_type: 'ssh-ed25519' }, 'default', 'ssh-ed25519'],
    ])(
      'of a CA %j with %s are signed with %s, and another library verifies them (E8.1)',
      async (asked, algorithm_signer, type) => {
        const { issuer_id, public_key } = await must('issuers/import', asked);
        const by = await role({ ...anyUser, issuer_ref: issuer_id, algorithm_signer });
        for (const public_key_of of Object.values(lines)) {
          const { signed_key } = await must(`sign/${by}`, { public_key: public_key_of, valid_principals: 'jane' });
          const read = readSshCertificate(signed_key);
          expect([read.signatureType, read.signer]).toEqual([type, public_key.trim()]);
          expect(isSignedBy(signed_key, public_key)).toBe(true);
          expect(
            parseCertificate(signed_key, 'openssh').subjectKey.toString('ssh').split(' ').slice(0, 2).join(' '),
          ).toBe(public_key_of);
        }
      },
    );

    it('have key id, principals and validity (E8.2)', async () => {
      const fields = {
        ...user,
        allowed_users: 'jane,root',
        default_user: 'jane',
        ttl: '1h',
        not_before_duration: 60,
        default_extensions: { 'permit-pty': '' },
        default_critical_options: { 'force-command': 'date' },
      };
      const now = clock.now() / 1000;
      expect(await sign(fields)).toMatchObject({
        kind: 'user',
        principals: ['jane'],
        validAfter: now - 60,
        validBefore: now + 3600,
        extensions: { 'permit-pty': '' },
        criticalOptions: { 'force-command': 'date' },
        keyId: expect.stringMatching(/^vault-root-[\da-f]{64}$/),
      });
      const asked = { valid_principals: ' root , jane,root ', ttl: '10m' };
      expect(await sign(fields, asked)).toMatchObject({ principals: ['jane', 'root'], validBefore: now + 600 });
    });

    it('have the type of the key, also of a security key (E8.3)', async () => {
      expect((await sign(anyUser, { public_key: token, valid_principals: 'a' })).type).toBe(
        'sk-ssh-ed25519-cert-v01@openssh.com',
      );
      expect(await refusedToSign({ ...anyUser, allowed_user_key_lengths: { ed25519: 0 } }, { public_key: token })).toBe(
        'public_key failed to meet the key requirements: key of type sk-ed25519 is not allowed',
      );
      const only = { ...anyUser, allowed_user_key_lengths: { 'sk-ssh-ed25519@openssh.com': 0 } };
      expect((await sign(only, { public_key: token, valid_principals: 'a' })).kind).toBe('user');
    });

    it.each([
      ['rsa', 'rsa', 'RSA PRIVATE KEY', 2048],
      ['ec', 'ecdsa', 'EC PRIVATE KEY', 384],
      ['ed25519', 'ed25519', 'OPENSSH PRIVATE KEY', 0],
    ])('are issued with a key of type %s (E8.3)', async (key_type, type, head, key_bits) => {
      const by = await role(anyUser);
      const { private_key, signed_key, ...more } = await must(`issue/${by}`, {
        key_type,
        key_bits,
        valid_principals: 'a',
      });
      expect(more.private_key_type).toBe(key_type);
      expect(private_key.split('\n')[0]).toBe(`-----BEGIN ${head}-----`);
      const own = parsePrivateKey(private_key);
      expect(own.type).toBe(type);
      expect(parseCertificate(signed_key, 'openssh').subjectKey.fingerprint('sha256').toString()).toBe(
        own.toPublic().fingerprint('sha256').toString(),
      );
    });

    it.each([
      [
        { ...user, allowed_users: 'jane' },
        { valid_principals: 'jane,root' },
        'root is not a valid value for valid_principals',
      ],
      [{ ...user, allowed_users: 'jane' }, {}, /^refusing to issue unsafe/],
      [anyUser, {}, /^refusing to issue unsafe/],
      [anyUser, { valid_principals: ' , ,' }, /^refusing to issue unsafe/],
      [{ ...user, default_user: 'root' }, {}, 'role is not configured to allow any principals'],
      [{ ...user, allowed_users: 'jane', default_user: 'root' }, {}, 'root is not a valid value for valid_principals'],
      [anyUser, { cert_type: 'host' }, "cert_type 'host' is not allowed by role"],
      [anyUser, { cert_type: 'User' }, "cert_type must be either 'user' or 'host'"],
      [anyUser, { key_id: 'mine' }, 'setting key_id is not allowed by role'],
      [{ ...anyUser, max_ttl: 60 }, { valid_principals: 'a', ttl: 61 }, 'ttl is larger than maximum allowed 60'],
      [
        anyUser,
        { valid_principals: 'a', extensions: { 'permit-pty': '' } },
        'extensions [permit-pty] are not on allowed list',
      ],
      [
        { ...anyUser, allowed_critical_options: 'force-command' },
        { valid_principals: 'a', critical_options: { 'source-address': '::/0', 'force-command': 'x' } },
        'critical options not on allowed list: [source-address]',
      ],
      [anyUser, { public_key: '' }, 'missing public_key'],
      [anyUser, { public_key: lines.ed25519!.slice(0, -8) }, /^failed to parse public_key as SSH key/],
      [anyUser, { public_key: `ssh-ed25519 ${lines.rsa!.split(' ')[1]}x` }, /^failed to parse public_key as SSH key/],
      [{ ...anyUser, issuer_ref: 'gone' }, { valid_principals: 'a' }, 'unable to find issuer for reference: gone'],
      [
        { ...anyUser, algorithm_signer: 'ssh-rsa' },
        { valid_principals: 'a' },
        'algorithm_signer ssh-rsa needs an issuer with an RSA key',
      ],
      [
        { ...anyUser, allowed_user_key_lengths: { rsa: [2048, 4096] } },
        { valid_principals: 'a' },
        'public_key failed to meet the key requirements: key of type ed25519 is not allowed',
      ],
      [
        { ...anyUser, allowed_user_key_lengths: { rsa: 4096 } },
        { valid_principals: 'a', public_key: lines.rsa },
        'public_key failed to meet the key requirements: key is of an invalid size: 2048',
      ],
    ])('are refused: %j for %j (E8.4)', async (fields, asked, text) => {
      const error = await refusedToSign(fields, asked);
      if (typeof text === 'string') expect(error).toBe(text);
      else expect(error).toMatch(text);
    });

    const smuggled = [
      'jane\nroot',
      'jane\u0000root',
      'jane\u202eroot',
      'ja\u200bne',
      'jane\troot',
      'jane\u2028root',
      '\ufeffjane',
    ];
    it.each(smuggled)('hide nothing in principals, options and key ids: %j (E8.5)', async (text) => {
      const all = { ...anyUser, allowed_extensions: '*', allow_user_key_ids: true, default_user: 'a' };
      for (const asked of [
        { valid_principals: `x${text}x` },
        { extensions: { [`x${text}`]: '' } },
        { extensions: { x: text } },
        { critical_options: { [`x${text}`]: '' } },
        { key_id: text },
      ]) {
        expect(await refusedToSign(all, asked)).toMatch(
          /contains a control character or another invisible|is not a valid value/,
        );
      }
    });

    it('have no principals only if the role allows it (E8.4)', async () => {
      expect((await sign({ ...user, allow_empty_principals: true })).principals).toEqual([]);
    });

    it('of hosts are for the domains of the role, without user extensions (E8.6)', async () => {
      const host = { key_type: 'ca', allow_host_certificates: true, allowed_domains: 'example.com,example.org' };
      const asked = (valid_principals: string) => ({ cert_type: 'host', valid_principals });
      const defaults = { default_extensions: { 'permit-pty': '' } };
      const below = { ...host, ...defaults, allow_subdomains: true };
      const made = await sign(below, asked('a.example.com,b.c.example.org'));
      expect([made.kind, made.principals, made.extensions]).toEqual(['host', ['a.example.com', 'b.c.example.org'], {}]);
      for (const name of ['example.com', 'xexample.com', '.example.com.evil', 'a.example.com evil', 'evil']) {
        expect(await refusedToSign(below, asked(name))).toBe(`${name} is not a valid value for valid_principals`);
      }
      expect((await sign({ ...host, allow_bare_domains: true }, asked('example.com'))).principals).toEqual([
        'example.com',
      ]);
      expect(await refusedToSign({ ...host, allow_bare_domains: true }, asked('a.example.com'))).toMatch(
        /not a valid value/,
      );
    });

    it('have a key id that no value can rewrite (E8.7)', async () => {
      const fields = { ...anyUser, key_id_format: '{{role_name}}|{{token_display_name}}|{{other}}' };
      const { auth } = (await secrets.root.write('auth/token/create', { display_name: '{{role_name}}' }).expect(200))
        .body;
      const name = await role(fields);
      const { body } = await secrets
        .as(auth.client_token)
        .write(`${at}/sign/${name}`, { public_key: lines.ed25519, valid_principals: 'a' })
        .expect(200);
      const { keyId } = readSshCertificate(body.data.signed_key);
      expect(keyId).toBe(`${name}|token---role-name|{{other}}`);
    });
  });

  describe('templates', () => {
    const templated = {
      ...user,
      allowed_users: 'guest,{{identity.entity.metadata.login}}',
      allowed_users_template: true,
      default_user: '{{identity.entity.metadata.login}}',
      default_user_template: true,
      default_extensions: { 'login@x': '{{identity.entity.name}}', 'permit-pty': '' },
      default_extensions_template: true,
    };
    const person = async (login: string) => {
      await secrets.root.write('sys/auth/userpass', { type: 'userpass' });
      const name = `p${++made}`;
      await secrets.root
        .write(`auth/userpass/users/${name}`, { password: 'right', token_policies: 'signs' })
        .expect(204);
      await secrets.root.write('sys/policies/acl/signs', { policy: 'path "+/sign/*" { capabilities = ["update"] }' });
      const { auth } = (await secrets.anonymous.write(`auth/userpass/login/${name}`, { password: 'right' }).expect(200))
        .body;
      await secrets.root.write(`identity/entity/id/${auth.entity_id}`, { name, metadata: { login } }).expect(204);
      return { name, who: secrets.as(auth.client_token) };
    };

    it('are filled from the identity of the caller (E8.8)', async () => {
      const { name, who } = await person('jane');
      const path = `${at}/sign/${await role(templated)}`;
      const { body } = await who.write(path, { public_key: lines.ed25519 }).expect(200);
      expect(readSshCertificate(body.data.signed_key)).toMatchObject({
        principals: ['jane'],
        extensions: { 'login@x': name, 'permit-pty': '' },
      });
      const other = await who.write(path, { public_key: lines.ed25519, valid_principals: 'root' }).expect(400);
      expect(other.body.errors).toEqual(['root is not a valid value for valid_principals']);
    });

    it('allow nothing through commas in a value, and match nothing without an identity (E8.8)', async () => {
      const { who } = await person('jane,root');
      const path = `${at}/sign/${await role(templated)}`;
      const { body } = await who.write(path, { public_key: lines.ed25519, valid_principals: 'root' }).expect(400);
      expect(body.errors[0]).toMatch(/could not be rendered/);
      const asked = { public_key: lines.ed25519, valid_principals: 'guest' };
      const { body: own } = await secrets.root.write(path, asked).expect(200);
      expect(readSshCertificate(own.data.signed_key).extensions).toEqual({ 'permit-pty': '' });
      expect(own.warnings).toHaveLength(1);
      const literal = { ...asked, valid_principals: '{{identity.entity.metadata.login}}' };
      await secrets.root.write(path, literal).expect(400);
    });
  });

  describe('issuers', () => {
    beforeAll(mount);

    it('are replaced while hosts trust both: both can sign, and public_keys has both (E8.9)', async () => {
      const first = await must('config/ca', { key_type: 'ec' });
      const old = await role({ ...anyUser, issuer_ref: first.issuer_id });
      const second = await must('config/ca', { key_type: 'ed25519' });
      const signer = async (name: string) =>
        readSshCertificate((await must(`sign/${name}`, { public_key: lines.rsa, valid_principals: 'a' })).signed_key)
          .signer;
      expect(await signer(old)).toBe(first.public_key.trim());
      expect(await signer(await role(anyUser))).toBe(second.public_key.trim());
      const trusted = (await secrets.anonymous.read(`${at}/public_keys`).expect(200)).text;
      expect(trusted.split('\n')[0]).toBe(second.public_key.trim());
      expect(trusted).toContain(first.public_key);
      expect((await secrets.anonymous.read(`${at}/public_key`).expect(200)).text).toBe(second.public_key);
      const { body } = await secrets.root.delete(`${at}/issuer/${first.issuer_id}`).expect(200);
      expect(body.warnings).toEqual([`1 roles reference '${first.issuer_id}'`]);
      expect(await refused(`sign/${old}`, { public_key: lines.rsa, valid_principals: 'a' })).toMatch(
        /^unable to find issuer/,
      );
    });

    it.each(Object.entries(pairs))('are imported with a key of type %s, in every form (E8.10)', async (_name, pair) => {
      await mount();
      const public_key = lineOf(pair.publicKey);
      const pkcs8 = String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
      for (const private_key of [pkcs8, parsePrivateKey(pkcs8, 'pem').toString('ssh')]) {
        const shown = await must('config/ca', { private_key, public_key: `${public_key} a comment\n` });
        expect(shown.public_key).toBe(`${public_key}\n`);
        const { signed_key } = await must(`sign/${await role(anyUser)}`, {
          public_key: lines.ed25519,
          valid_principals: 'a',
        });
        expect(isSignedBy(signed_key, public_key)).toBe(true);
        await secrets.root.delete(`${at}/config/ca`).expect(200);
      }
    });

    it('are refused if the keys do not match, or are weak, encrypted or unknown (E8.10)', async () => {
      const own = String(pairs.ed25519.privateKey.export({ type: 'pkcs8', format: 'pem' }));
      const locked = String(
        pairs.rsa.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }),
      );
      const weak = generateKeyPairSync('rsa', { modulusLength: 1024 });
      expect(createPrivateKey(own).asymmetricKeyType).toBe('ed25519');
      for (const [body, text] of [
        [{ private_key: own, public_key: lines.p256 }, 'public_key does not belong to private_key'],
        [{ private_key: own }, /^only one of public_key and private_key set/],
        [{ generate_signing_key: false }, 'missing public_key'],
        [{ generate_signing_key: true, private_key: own }, /^public_key and private_key must not be set/],
        [{ private_key: locked, public_key: lines.rsa }, /^could not parse private_key/],
        [
          {
            private_key: String(weak.privateKey.export({ type: 'pkcs1', format: 'pem' })),
            public_key: lineOf(weak.publicKey),
          },
          /^could not parse private_key/,
        ],
        [{ key_type: 'dsa' }, 'unknown ssh key pair algorithm: dsa'],
        [{ key_type: 'rsa', key_bits: 1024 }, 'refusing to generate weak rsa key: 1024 bits < 2048 bits'],
        [{ key_type: 'rsa', key_bits: 100_000 }, /^refusing to generate rsa key/],
      ] as const) {
        const error = await refused('config/ca', body);
        if (typeof text === 'string') expect(error).toBe(text);
        else expect(error).toMatch(text);
        expect(error).not.toContain(own.split('\n')[1]);
      }
    });

    it('that are created at the same time all exist, each with its name', async () => {
      await mount();
      const names = Array.from({ length: 8 }, (_, i) => `name-${i}`);
      await Promise.all(names.map((name) => must(`issuers/import/${name}`, { key_type: 'ed25519' })));
      const { keys, key_info } = (await secrets.root.list(`${at}/issuers`).expect(200)).body.data;
      expect(keys).toHaveLength(9);
      const named = Object.values<{ issuer_name: string }>(key_info).map(({ issuer_name }) => issuer_name);
      expect(named.filter((name) => name !== '').sort()).toEqual(names);
      const same = await Promise.all(names.map(() => write('issuers/import/same', { key_type: 'ed25519' })));
      expect(same.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(400)]);
    });
  });

  describe('one-time passwords', () => {
    const otp = {
      key_type: 'otp',
      default_user: 'jane',
      cidr_list: '10.0.0.0/8,fd00::/8',
      exclude_cidr_list: '10.9.0.0/16',
    };
    const verify = (sent: unknown) => secrets.anonymous.write(`${at}/verify`, { otp: sent });

    it('are verified once, by one of many simultaneous requests (E8.11)', async () => {
      const name = await role(otp);
      const { body } = await write(`creds/${name}`, { ip: '10.0.0.1' }).expect(200);
      const { key, ...more } = body.data;
      expect(more).toEqual({ ip: '10.0.0.1', key_type: 'otp', port: 22, username: 'jane' });
      expect([body.renewable, body.lease_duration]).toEqual([false, 2_764_800]);
      const answers = await Promise.all(Array.from({ length: 20 }, () => verify(key)));
      const right = answers.filter(({ status }) => status === 200);
      expect(right.map(({ body: { data } }) => data)).toEqual([{ ip: '10.0.0.1', username: 'jane', role_name: name }]);
      expect(new Set(answers.filter((one) => one.status !== 200).map((one) => one.body.errors[0]))).toEqual(
        new Set(['OTP not found']),
      );
    });

    it('end with their lease (E8.11)', async () => {
      const { body } = await write(`creds/${await role(otp)}`, { ip: '10.0.0.1' }).expect(200);
      await secrets.root.write('sys/leases/revoke', { lease_id: body.lease_id }).expect(204);
      expect((await verify(body.data.key).expect(400)).body.errors).toEqual(['OTP not found']);
    });

    it.each([
      [
        { ip: '10.0.0.1', username: 'root' },
        'Username has to be either in allowed users list or has to be a default username',
      ],
      [{ ip: '11.0.0.1' }, 'Error validating IP: IP does not belong to role'],
      [{ ip: '10.9.1.1' }, 'Error validating IP: IP does not belong to role'],
      [{ ip: '010.0.0.1' }, 'Invalid IP "010.0.0.1"'],
      [{ ip: '10.0.0.1\n' }, /^Invalid IP/],
      [{ ip: '167772161' }, 'Invalid IP "167772161"'],
      [{ ip: '10.0.0.0/8' }, 'Invalid IP "10.0.0.0/8"'],
      [{}, 'Missing ip'],
    ])('are refused for %j (E8.12)', async (asked, text) => {
      const error = await refused(`creds/${await role(otp)}`, asked);
      if (typeof text === 'string') expect(error).toBe(text);
      else expect(error).toMatch(text);
    });

    it('recognize an address in all its spellings (E8.12)', async () => {
      const name = await role(otp);
      for (const [ip, plain] of [
        ['::ffff:10.0.0.1', '10.0.0.1'],
        ['FD00:0:0::1', 'fd00::1'],
      ]) {
        expect((await must(`creds/${name}`, { ip })).ip).toBe(plain);
      }
    });

    it('are for any host if they are of a zero-address role, until it is deleted (E8.12)', async () => {
      const name = await role({ ...otp, cidr_list: '' });
      const other = await role(otp);
      expect(await refused('config/zeroaddress', { roles: [name, 'absent'] })).toBe('Role "absent" does not exist');
      await write('config/zeroaddress', { roles: [name, other] }).expect(204);
      expect((await must(`creds/${name}`, { ip: '192.0.2.1' })).ip).toBe('192.0.2.1');
      expect((await must('lookup', { ip: '192.0.2.1' })).roles.sort()).toEqual([name, other].sort());
      await secrets.root.delete(`${at}/roles/${name}`).expect(204);
      expect((await secrets.root.read(`${at}/config/zeroaddress`).expect(200)).body.data).toEqual({ roles: [other] });
    });

    it('cannot be signed, and certificates need no password', async () => {
      expect(
        await refused(`creds/${await role({ ...anyUser, default_user: 'a', cidr_list: '10.0.0.0/8' })}`, {
          ip: '10.0.0.1',
        }),
      ).toBe('key type unknown');
      expect(await refused(`issue/${await role(otp)}`)).toBe("role key type 'otp' not allowed to issue key pairs");
      expect(await refused(`sign/${await role(otp)}`, { public_key: lines.rsa })).toMatch(/is not allowed by role/);
      expect((await verify('verify-echo-request').expect(200)).body.data).toEqual({ message: 'verify-echo-response' });
    });
  });

  it('reads a role as it was written, with its defaults', async () => {
    const fields = { ...anyUser, ttl: '1h', allowed_user_key_lengths: { rsa: '2048', ec: [256] } };
    const { body } = await secrets.root.read(`${at}/roles/${await role(fields)}`).expect(200);
    expect(body.data).toMatchObject({
      key_type: 'ca',
      ttl: 3600,
      allowed_users: '*',
      allowed_user_key_lengths: { rsa: [2048], ec: [256] },
      algorithm_signer: 'default',
      not_before_duration: 30,
      issuer_ref: 'default',
      default_extensions: {},
    });
    expect(body.data).not.toHaveProperty('cidr_list');
  });
});
