import { beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenSsl } from '../../../test/openssl';
import { startSecrets } from '../../../test/start-secrets';

describe('certificate authorities', () => {
  const secrets = startSecrets();
  const { run, file, certificate: described, request } = startOpenSsl();
  const write = (path: string, body: object = {}) => secrets.root.write(path, body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  const read = async (path: string) => (await secrets.root.read(path).expect(200)).body.data;
  const mount = (path: string) =>
    secrets.root.write(`sys/mounts/${path}`, { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
  const verified = (leaf: string, roots: string, between?: string) => {
    const untrusted = between === undefined ? [] : ['-untrusted', file(between)];
    return run('verify', '-x509_strict', '-CAfile', file(roots), ...untrusted, file(leaf));
  };

  beforeAll(async () => {
    await mount('root');
    await must('root/root/generate/internal', {
      common_name: 'Root',
      ttl: '87600h',
      key_type: 'ec',
      issuer_name: 'first',
    });
  });

  it.each(['rsa', 'ec', 'ed25519'])(
    'an intermediate (%s) is signed by a root of another mount, and OpenSSL verifies its certificates (E4.1)',
    async (key_type) => {
      const at = `below-${key_type}`;
      await mount(at);
      const { csr, key_id } = await must(`${at}/intermediate/generate/internal`, { common_name: 'Below', key_type });
      expect(run('req', '-in', file(csr), '-noout', '-verify', '-subject')).toContain('Below');
      const signed = await must('root/root/sign-intermediate', { csr, ttl: '8760h', max_path_length: 0 });
      const rootPem = signed.ca_chain[1];
      expect(described(signed.certificate)).toMatch(/CA:TRUE, pathlen:0/);
      const imported = await must(`${at}/intermediate/set-signed`, { certificate: signed.ca_chain.join('\n') });
      expect(imported.imported_issuers).toHaveLength(2);
      expect(imported.imported_keys).toBeNull();
      const [ownId, rootId] = imported.imported_issuers;
      expect(imported.mapping).toEqual({ [ownId]: key_id, [rootId]: '' });
      expect(await read(`${at}/config/issuers`)).toMatchObject({ default: ownId });
      const again = await must(`${at}/intermediate/set-signed`, { certificate: signed.certificate });
      expect(again).toMatchObject({ imported_issuers: null, existing_issuers: [ownId] });
      await must(`${at}/roles/a`, { allow_any_name: true, key_type: 'ec' });
      const leaf = await must(`${at}/issue/a`, { common_name: 'a.test' });
      expect(leaf.ca_chain).toEqual([signed.certificate, rootPem]);
      expect(verified(leaf.certificate, rootPem, signed.certificate)).toMatch(/OK/);
      expect((await must(`${at}/issue/a`, { common_name: 'a.test', remove_roots_from_chain: true })).ca_chain).toEqual([
        signed.certificate,
      ]);
      const below = request({ subject: '/CN=Deeper' });
      expect(await refused(`${at}/root/sign-intermediate`, { csr: below.csr })).toMatch(/max path length of zero/);
    },
  );

  it('path lengths never grow on the way down (E4.2)', async () => {
    await mount('depth');
    await must('depth/root/generate/internal', { common_name: 'R', key_type: 'ec', max_path_length: 2 });
    const { csr } = request({ subject: '/CN=Below' });
    const lengthOf = async (body: object) =>
      /pathlen:(\d+)/.exec(described((await must('depth/root/sign-intermediate', { csr, ...body })).certificate))?.[1];
    expect(await lengthOf({})).toBe('1');
    expect(await lengthOf({ max_path_length: 0 })).toBe('0');
    expect(await refused('depth/root/sign-intermediate', { csr, max_path_length: 2 })).toMatch(/^max_path_length/);
    expect(await refused('depth/root/sign-intermediate', { csr, max_path_length: -1 })).toMatch(/^max_path_length/);
  });

  it('a CA with name constraints is trusted for no other domains', async () => {
    await mount('narrow');
    const root = await must('narrow/root/generate/internal', {
      common_name: 'Narrow',
      key_type: 'ec',
      permitted_dns_domains: 'good.test',
    });
    await must('narrow/roles/a', { allow_any_name: true, key_type: 'ec' });
    const good = await must('narrow/issue/a', { common_name: 'a.good.test', ttl: '1h' });
    expect(verified(good.certificate, root.certificate)).toMatch(/OK/);
    const bad = await must('narrow/issue/a', { common_name: 'a.evil.test', ttl: '1h' });
    expect(() => verified(bad.certificate, root.certificate)).toThrow(/permitted subtree violation/);
  });

  it('the extensions of a CSR are signed for a CA only if the caller asks for it (E4.3)', async () => {
    const extensions =
      'subjectAltName=DNS:x.test\nbasicConstraints=critical,CA:TRUE,pathlen:9\n1.2.3.4=ASN1:UTF8String:a';
    const { csr } = request({ subject: '/O=Theirs/CN=Below', extensions });
    const plain = described((await must('root/root/sign-intermediate', { csr })).certificate);
    expect(plain).toContain('Subject: CN=Below\n');
    expect(plain).not.toMatch(/1\.2\.3\.4|pathlen/);
    const asAsked = described((await must('root/root/sign-intermediate', { csr, use_csr_values: true })).certificate);
    expect(asAsked).toContain('Subject: CN=Below,O=Theirs\n');
    expect(asAsked).toContain('1.2.3.4');
    expect(asAsked).not.toContain('pathlen');
    const other = await must('root/root/sign-intermediate', { csr, common_name: 'Ours', skid: 'aa:bb' });
    expect(described(other.certificate)).toMatch(/Subject: CN=Ours\n[\s\S]*Subject Key Identifier: \n\s+AA:BB\n/);
    expect(await refused('root/root/sign-intermediate', {})).toBe('"csr" is empty');
  });

  it('a root is replaced, and the old one verifies certificates of both through a cross-signed one (E4.4)', async () => {
    await mount('turn');
    const old = await must('turn/root/generate/internal', { common_name: 'Old', key_type: 'ec', ttl: '87600h' });
    const next = await must('turn/root/rotate/internal', { common_name: 'New', key_type: 'rsa', ttl: '43800h' });
    expect(next.issuer_name).toBe('next');
    expect(await read('turn/config/issuers')).toMatchObject({ default: old.issuer_id });
    const { csr } = await must('turn/intermediate/cross-sign', { common_name: 'New', key_ref: next.key_id });
    const cross = await must(`turn/issuer/${old.issuer_id}/sign-intermediate`, {
      csr,
      common_name: 'New',
      ttl: '8760h',
    });
    await must('turn/issuers/import/cert', { pem_bundle: cross.certificate });
    expect(await must('turn/root/replace', { default: 'next' })).toMatchObject({ default: next.issuer_id });
    await must('turn/roles/a', { allow_any_name: true, key_type: 'ec' });
    const leaf = await must('turn/issue/a', { common_name: 'a.test' });
    expect(verified(leaf.certificate, next.certificate)).toMatch(/OK/);
    expect(verified(leaf.certificate, old.certificate, cross.certificate)).toMatch(/OK/);
    const byOld = await must(`turn/issuer/${old.issuer_id}/issue/a`, { common_name: 'a.test' });
    expect(verified(byOld.certificate, old.certificate)).toMatch(/OK/);
    const selfIssued = await must('turn/root/sign-self-issued', { certificate: old.certificate });
    expect(verified(byOld.certificate, next.certificate, selfIssued.certificate)).toMatch(/OK/);
    expect(await refused('turn/root/sign-self-issued', { certificate: leaf.certificate })).toBe(
      'given certificate is not a CA certificate',
    );
    await must('turn/config/issuers', { default_follows_latest_issuer: true, default: old.issuer_id });
    const third = await must('turn/root/generate/internal', { common_name: 'Third', key_type: 'ec' });
    expect(await read('turn/config/issuers')).toMatchObject({ default: third.issuer_id });
  });

  it('an issuer and its key can be imported in any order, once (E4.5)', async () => {
    const key = run('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048');
    const usage = 'keyUsage=critical,keyCertSign,cRLSign';
    const pem = run(
      'req',
      '-x509',
      '-new',
      '-key',
      file(key),
      '-subj',
      '/CN=Elsewhere',
      '-days',
      '100',
      '-addext',
      usage,
    );
    await mount('import');
    expect(await refused('import/issuers/import/cert', { pem_bundle: `${pem}${key}` })).toMatch(
      /use \/issuers\/import\/bundle/,
    );
    expect(await refused('import/issuers/import/bundle', { pem_bundle: '/etc/ca.pem' })).toMatch(/too short/);
    const first = await must('import/issuers/import/cert', { pem_bundle: pem });
    const [id] = first.imported_issuers;
    expect(first.mapping).toEqual({ [id]: '' });
    await must('import/roles/a', { allow_any_name: true, key_type: 'ec' });
    expect(await refused('import/issue/a', { common_name: 'a.test' })).toMatch(/no default issuer/);
    const imported = await must('import/keys/import', { pem_bundle: key, key_name: 'theirs' });
    expect(imported).toMatchObject({ key_name: 'theirs', key_type: 'rsa' });
    expect((await read(`import/issuer/${id}`)).key_id).toBe(imported.key_id);
    const leaf = await must('import/issue/a', { common_name: 'a.test' });
    expect(verified(leaf.certificate, pem)).toMatch(/OK/);
    const again = await must('import/config/ca', { pem_bundle: `${key}${pem}` });
    expect(again).toMatchObject({ imported_issuers: null, existing_issuers: [id], existing_keys: [imported.key_id] });
    expect(await refused('import/issuers/import/cert', { pem_bundle: leaf.certificate })).toMatch(/not of a CA/);
    expect(JSON.stringify(again)).not.toContain('PRIVATE');
  });

  it('keys are created first and used by name, and a key in use cannot be deleted (E4.6)', async () => {
    await mount('keys');
    const key = await must('keys/keys/generate/internal', { key_type: 'ec', key_name: 'mine' });
    expect(key).toEqual({ key_id: key.key_id, key_name: 'mine', key_type: 'ec' });
    const exported = await must('keys/keys/generate/exported', { key_type: 'ed25519' });
    expect(run('pkey', '-in', file(exported.private_key), '-noout', '-text')).toContain('ED25519');
    expect(await refused('keys/keys/generate/internal', { key_name: 'mine' })).toBe('key name already in use');
    expect(await refused('keys/keys/generate/internal', { key_name: 'default' })).toMatch(/reserved keyword/);
    expect(await refused('keys/root/generate/existing', { key_ref: 'none' })).toBe(
      'unable to find PKI key for reference: none',
    );
    expect(await refused('keys/root/generate/kms')).toMatch(/^kms: /);
    expect(await refused('keys/root/generate/other')).toMatch(/"exported" path parameter/);
    const root = await must('keys/root/generate/existing', { common_name: 'R', key_ref: 'mine' });
    expect(root.key_id).toBe(key.key_id);
    const denied = await secrets.root.delete('keys/key/mine').expect(400);
    expect(denied.body.errors[0]).toBe(`Failed to Delete Key.  Key in Use by Issuer: ${root.issuer_id}`);
    await secrets.root.delete(`keys/key/${exported.key_id}`).expect(204);
    expect((await secrets.root.list('keys/keys').expect(200)).body.data.key_info).toEqual({
      [key.key_id]: { key_name: 'mine', is_default: true },
    });
    expect(await must('keys/key/mine', { key_name: 'ours' })).toMatchObject({ key_name: 'ours' });
    const gone = await secrets.root.delete(`keys/issuer/${root.issuer_id}`).expect(200);
    expect(gone.body.warnings[0]).toMatch(/default issuer/);
    await secrets.root.delete('keys/key/ours').expect(200);
    await secrets.root.list('keys/keys').expect(404);
  });

  it('an issuer is changed as requested, and invalid settings are refused (E4.7)', async () => {
    const changed = await must('root/issuer/first', {
      issuer_name: 'one',
      usage: 'issuing-certificates',
      ocsp_servers: 'http://ocsp.test',
      manual_chain: 'self',
    });
    expect(changed).toMatchObject({
      issuer_name: 'one',
      usage: 'issuing-certificates,read-only',
      ocsp_servers: ['http://ocsp.test'],
    });
    const patched = (await secrets.root.patch('root/issuer/one', { leaf_not_after_behavior: 'permit' }).expect(200))
      .body.data;
    expect(patched).toEqual({ ...changed, leaf_not_after_behavior: 'permit' });
    for (const [body, text] of [
      [{ leaf_not_after_behavior: 'x' }, /Unknown value for field `leaf_not_after_behavior`/],
      [{ usage: 'x' }, /Unable to parse specified usages/],
      [{ revocation_signature_algorithm: 'md5' }, /Unknown signature algorithm value/],
      [{ revocation_signature_algorithm: 'SHA256WithRSA' }, /unable to use issuer of type ec/],
      [{ manual_chain: 'none' }, /unable to find PKI issuer for reference: none/],
      [{ issuer_name: 'default' }, /reserved keyword/],
      [{ issuing_certificates: 'x' }, /invalid URL found in Authority Information Access/],
    ] as const) {
      expect((await secrets.root.patch('root/issuer/one', body).expect(400)).body.errors[0]).toMatch(text);
    }
    expect(await read('root/issuer/one')).toEqual(patched);
    expect(await must('root/issuer/one', { issuer_name: 'first' })).toMatchObject({
      ocsp_servers: [],
      leaf_not_after_behavior: 'err',
    });
  });

  it('names and defaults are assigned once, however many requests come at the same time (E4.8)', async () => {
    await mount('race');
    const bodies = Array.from({ length: 8 }, (_one, at) => ({
      common_name: `R${at}`,
      key_type: 'ec',
      issuer_name: 'same',
    }));
    const answers = await Promise.all(bodies.map((body) => write('race/root/generate/internal', body)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await secrets.root.list('race/issuers').expect(200)).body.data.keys).toHaveLength(1);
    expect((await secrets.root.list('race/keys').expect(200)).body.data.keys).toHaveLength(1);
  });

  it('deleting all issuers and keys needs sudo, and leaves none (E4.9)', async () => {
    const user = await secrets.withPolicy('path "race/root" { capabilities = ["delete"] }');
    await user.delete('race/root').expect(403);
    await secrets.root.delete('race/root').expect(200);
    await secrets.anonymous.list('race/issuers').expect(404);
  });

  it('a revoked issuer stays revoked when it is deleted and imported again (E4.9)', async () => {
    await mount('again');
    const { certificate, issuer_id } = await must('again/root/generate/internal', { common_name: 'A', key_type: 'ec' });
    await must('again/roles/a', { allow_any_name: true, key_type: 'ec' });
    await must(`again/issuer/${issuer_id}/revoke`);
    for (const path of [`again/issuer/${issuer_id}`, 'again/root']) {
      await secrets.root.delete(path);
      const { imported_issuers: ids } = await must('again/issuers/import/cert', { pem_bundle: certificate });
      expect(await read(`again/issuer/${ids[0]}`)).toMatchObject({ revoked: true });
      expect(await refused(`again/issuer/${ids[0]}`, { usage: 'issuing-certificates' })).toMatch(/was revoked/);
      expect(await refused(`again/issuer/${ids[0]}/issue/a`, { common_name: 'a.test', ttl: '1h' })).toMatch(/usage/);
    }
  });

  it('a CA is signed with the requested names, and with those of its CSR only if asked (E4.3)', async () => {
    const { csr } = request({ subject: '/CN=Below', extensions: 'subjectAltName=DNS:sent.test' });
    const names = async (more: object) => {
      const fields = {
        csr,
        common_name: 'Below',
        alt_names: 'asked.test',
        exclude_cn_from_sans: true,
        ttl: '1h',
        ...more,
      };
      const { certificate } = await must('root/root/sign-intermediate', fields);
      return described(certificate).match(/DNS:\S+/g);
    };
    expect(await names({})).toEqual(['DNS:asked.test']);
    expect(await names({ use_csr_values: true })).toEqual(['DNS:sent.test']);
    expect(await refused('root/sign-verbatim/absent', { csr })).toBe('unknown role: absent');
  });
});
