import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead, type Ran } from './run-keystead';

// Starting a complete service is slow on a busy machine.
jest.setTimeout(120_000);

const home = mkdtempSync(join(tmpdir(), 'keystead-commands-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('the familiar commands, against a service', () => {
  const secrets = startSecrets();
  const address = () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`;
  const run = (line: string, typed: string[] = [], env: Record<string, string> = {}): Promise<Ran> =>
    keystead(line.split(' '), { HOME: home, VAULT_ADDR: address(), VAULT_TOKEN: secrets.rootToken, ...env }, typed);
  const json = async (line: string, typed: string[] = []) => {
    const { code, printed, said } = await run(`${line} -format=json`, typed);
    expect({ line, code, said }).toMatchObject({ line, code: 0 });
    return JSON.parse(printed);
  };
  /** Runs lines that must all succeed. */
  const done = async (...lines: string[]) => {
    for (const line of lines) {
      const { code, said } = await run(line);
      expect({ line, code, said }).toMatchObject({ line, code: 0 });
    }
  };

  describe('kv', () => {
    beforeAll(() => done('secrets enable -path=two -version=2 kv', 'secrets enable -path=one/deep kv'));

    it('tells callers who may list engines that none is mounted, and how to mount one', async () => {
      expect(await run('kv put none/foo a=b')).toMatchObject({
        code: 2,
        said: expect.stringContaining('no secrets engine is mounted at none/: keystead secrets enable -path=none'),
      });
      const { auth } = await json('token create -policy=default');
      const token = { VAULT_TOKEN: auth.client_token };
      const there = await run('kv put two/foo a=b', [], token);
      const absent = await run('kv put none/foo a=b', [], token);
      expect([there, absent].map(({ code, said }) => [code, said.replaceAll(/two|none/g, 'X')])).toEqual([
        [2, expect.stringContaining('403')],
        [2, there.said.replaceAll('two', 'X')],
      ]);
    });

    it('keeps the digits of every number, through every command and format', async () => {
      const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,9})?([eE][+-]?\d{1,2})?$/);
      const examples = ['9007199254740993', '12345678901234567890', '1.10', '-0', '1e400', '0.30000000000000000001'];
      for (const number of [...examples, ...fc.sample(digits, 6)]) {
        await done(`kv put two/number n:=${number} in:={"deep":[${number}]} x=1`);
        await done(
          'kv patch two/number x=2',
          'kv patch -method=rw two/number x=3',
          'kv rollback -version=1 two/number',
        );
        expect((await run('kv get -field=n two/number')).printed).toBe(number);
        expect((await run('kv get -field=in two/number')).printed).toBe(`{"deep":[${number}]}`);
        const shown = (await run('kv get two/number')).printed.split('\n').map((line) => line.split(/ +/));
        expect(shown).toContainEqual(['n', number]);
        expect((await run('kv get -format=json two/number')).printed).toContain(`"n": ${number}`);
        expect((await run('kv get -format=yaml two/number')).printed).toContain(`n: ${number}\n`);
        expect((await run('write cubbyhole/n -', [`{"n":${number}}`])).code).toBe(0);
        expect((await run('read -field=n cubbyhole/n')).printed).toBe(number);
        await done('kv metadata delete two/number', 'delete cubbyhole/n');
      }
    });

    it('keeps versions: put, patch, get, delete, undelete, destroy, rollback', async () => {
      await done(
        'kv put two/app/db user=ada password=first',
        'kv put -mount=two -cas=1 app/db user=bo password=second',
      );
      expect((await run('kv put -cas=1 two/app/db user=eve')).code).toBe(2);
      await done('kv patch two/app/db password=third', 'kv patch -method=rw two/app/db extra:={"deep":[1]}');
      const newest = await json('kv get two/app/db');
      expect(newest.data).toMatchObject({
        data: { user: 'bo', password: 'third', extra: { deep: [1] } },
        metadata: { version: 4 },
      });
      expect((await run('kv get -field=password -version=1 two/app/db')).printed).toBe('first');
      expect((await run('kv get -field=extra two/app/db')).printed).toBe('{"deep":[1]}');
      const shown = (await run('kv get -mount=two app/db')).printed;
      expect(shown).toMatch(/^path +two\/data\/app\/db$/m);
      expect(shown).toMatch(/^password +third$/m);
      await done('kv delete two/app/db', 'kv delete -versions=1,2 two/app/db');
      const deleted = await run('kv get two/app/db');
      expect([deleted.code, deleted.said]).toEqual([0, expect.stringContaining('deleted')]);
      expect((await run('kv get -field=user two/app/db')).code).toBe(2);
      await done('kv undelete -versions=2,4 two/app/db', 'kv destroy -versions=1 two/app/db');
      expect((await run('kv rollback -version=1 two/app/db')).code).toBe(2);
      await done('kv rollback -version=2 two/app/db');
      expect((await json('kv get two/app/db')).data).toMatchObject({ data: { user: 'bo', password: 'second' } });
      expect(await json('kv list two/app')).toEqual(['db']);
      expect((await run('kv list -mount=two')).printed).toBe('app/\n');
      expect((await run('kv scan -mount=two')).printed).toBe('app/db\n');
      expect(await json('kv scan two/app')).toEqual(['db']);
      expect(await json('scan two/metadata')).toEqual(['app/db']);
      expect((await run('scan two/metadata/none')).code).toBe(2);
    });

    it('stores settings and custom metadata separately from the versions', async () => {
      await done(
        'kv put two/noted a=1',
        'kv metadata put -max-versions=3 -cas-required=true -custom-metadata=owner=ada -custom-metadata=team=x two/noted',
        'kv metadata patch -custom-metadata=owner=bo -remove-custom-metadata=team -delete-version-after=1h two/noted',
      );
      expect((await json('kv metadata get two/noted')).data).toMatchObject({
        max_versions: 3,
        cas_required: true,
        custom_metadata: { owner: 'bo' },
        delete_version_after: '1h0m0s',
      });
      expect((await run('kv metadata get -field=current_version two/noted')).printed).toBe('1');
      expect((await run('kv metadata get two/noted')).printed).toMatch(
        /^\nversion 1\ncreated_by +\S+\ncreated_time +\S+\n(.*\n)?destroyed +false$/m,
      );
      await done('kv metadata delete two/noted');
      expect((await run('kv metadata get two/noted')).code).toBe(2);
    });

    it('works without versions, too, and names operations that need them', async () => {
      await done('kv put one/deep/a user=ada');
      expect((await json('kv get one/deep/a')).data).toEqual({ user: 'ada' });
      expect((await run('kv get -field=user -mount=one/deep a')).printed).toBe('ada');
      expect(await json('kv list one/deep')).toEqual(['a']);
      for (const line of [
        'kv patch one/deep/a b=1',
        'kv get -version=1 one/deep/a',
        'kv undelete -versions=1 one/deep/a',
      ]) {
        const { code, said } = await run(line);
        expect([line, code, said]).toEqual([line, 2, expect.stringContaining('has no versions')]);
      }
      await done('kv delete one/deep/a');
      expect((await run('kv get one/deep/a')).code).toBe(2);
      expect((await run('kv get nowhere/a')).code).toBe(2);
    });
  });

  it('reads and writes any path: values, files, standard input, lists, fields', async () => {
    const file = join(home, 'value.txt');
    writeFileSync(file, 'from a file');
    await done(`write cubbyhole/any text=3 number:=3 file=@${file} many=a many=b at=\\@home`);
    expect((await run('write cubbyhole/piped -', ['{"piped":true}'])).code).toBe(0);
    expect((await run('write cubbyhole/one value=-', ['line'])).code).toBe(0);
    expect((await json('read cubbyhole/any')).data).toEqual({
      text: '3',
      number: 3,
      file: 'from a file',
      many: ['a', 'b'],
      at: '@home',
    });
    expect((await json('read cubbyhole/piped')).data).toEqual({ piped: true });
    expect((await run('read -field=value cubbyhole/one')).printed).toBe('line\n');
    expect(await json('list cubbyhole')).toEqual(['any', 'one', 'piped']);
    expect((await run('write cubbyhole/any')).code).toBe(1);
    await done('delete cubbyhole/any');
    const none = await run('list -format=json cubbyhole/none');
    expect([none.code, none.printed, JSON.parse(none.said).errors]).toEqual([
      2,
      '{}\n',
      [expect.stringContaining('404')],
    ]);
    expect(await json('read cubbyhole/one')).not.toHaveProperty('auth');
    expect((await run('read cubbyhole/any')).code).toBe(2);
    expect((await run('path-help sys/policies/acl')).printed).toContain('sys/policies/acl');
  });

  it('mounts, tunes, moves and unmounts engines and methods', async () => {
    for (const [group, type] of [
      ['secrets', 'kv'],
      ['auth', 'userpass'],
    ]) {
      await done(
        `${group} enable -path=mounted -description=first -default-lease-ttl=30m ${type}`,
        `${group} tune -max-lease-ttl=2h -description=second mounted`,
        `${group} move mounted moved`,
      );
      const listed = await json(`${group} list`);
      expect(listed['moved/']).toMatchObject({
        type,
        description: 'second',
        config: { default_lease_ttl: 1800, max_lease_ttl: 7200 },
      });
      expect(listed['mounted/']).toBeUndefined();
      expect((await run(`${group} list -detailed`)).printed).toMatch(/^moved\/ +.*second +1800 +7200/m);
      await done(`${group} disable moved`);
      expect((await json(`${group} list`))['moved/']).toBeUndefined();
    }
    expect((await run('secrets tune kv')).code).toBe(1);
    expect((await run('secrets enable nonsense')).code).toBe(2);
  });

  it('wraps an answer, and unwraps it once', async () => {
    await done('write cubbyhole/gift a=1');
    const wrapped = await json('read -wrap-ttl=60s cubbyhole/gift');
    expect(wrapped.wrap_info.ttl).toBe(60);
    const { token } = wrapped.wrap_info;
    expect((await json('unwrap -', [token])).data).toEqual({ a: '1' });
    expect((await run('unwrap -', [token])).code).toBe(2);
    const field = await run('kv put -wrap-ttl=1m -field=wrapping_token two/wrapped a=1');
    expect(field).toMatchObject({ code: 0, printed: expect.stringMatching(/^\S+$/) });
    // Called with the wrapping token itself.
    expect(await run('unwrap -field=version', [], { VAULT_TOKEN: field.printed })).toMatchObject({
      code: 0,
      printed: '1',
    });
  });

  it('creates namespaces and works in them', async () => {
    await done('namespace create -custom-metadata=owner=ada team', 'namespace patch -custom-metadata=owner=bo team');
    expect(await json('namespace list')).toEqual(['team/']);
    expect((await json('namespace list -detailed'))['team/'].custom_metadata).toEqual({ owner: 'bo' });
    expect(await json('namespace lookup team')).toMatchObject({
      path: 'team/',
      custom_metadata: { owner: 'bo' },
    });
    await done('secrets enable -ns=team -version=2 kv', 'kv put -namespace=team kv/a here=yes');
    expect((await run('kv get -field=here kv/a', [], { VAULT_NAMESPACE: 'team' })).printed).toBe('yes');
    await done('namespace delete team');
  });

  it('explains the decision of a policy, with exit code 2 for a refusal', async () => {
    expect((await run('policy write walker -', ['path "kv/a/*" { capabilities = ["read"] }'])).code).toBe(0);
    const { auth } = await json('token create -policy=walker');
    const allowed = await run(`policy explain -accessor=${auth.accessor} kv/a/b`);
    expect([allowed.code, allowed.printed]).toEqual([0, expect.stringMatching(/^deciding rule +kv\/a\/\*/m)]);
    const refused = await run(`policy explain -accessor=${auth.accessor} -operation=update kv/a/b x=1`);
    expect([refused.code, refused.printed]).toEqual([2, expect.stringMatching(/^allowed +false$/m)]);
    expect(await json('policy list')).toEqual(expect.arrayContaining(['walker', 'default']));
    expect(await json('policy read walker')).toEqual({ policy: expect.stringContaining('kv/a/*') });
  });

  it('reads tokens from a prompt and never from an argument', async () => {
    const { auth } = await json(
      'token create -policy=default -use-limit=9 -metadata=for=test -no-default-policy=false',
    );
    expect((await json('token lookup -', [auth.client_token])).data).toMatchObject({
      num_uses: 9,
      meta: { for: 'test' },
    });
    for (const line of [
      `token lookup ${auth.client_token}`,
      `token revoke ${auth.client_token}`,
      `login ${auth.client_token}`,
    ]) {
      expect(await run(line)).toMatchObject({
        code: 1,
        said: expect.stringContaining('a token cannot be an argument'),
      });
    }
    expect((await run('token revoke -', [auth.client_token])).code).toBe(0);
    expect((await run('token lookup -', [auth.client_token])).code).toBe(2);
    expect((await run('print token')).printed).toBe(`${secrets.rootToken}\n`);
    expect(await json('token capabilities sys/mounts')).toEqual(['root']);
    const { token: reader = '' } = await secrets.withPolicy('path "two/*" { capabilities = ["read"] }');
    const ofReader = await run('token capabilities - two/data/x', [reader]);
    expect([ofReader.code, ofReader.printed]).toEqual([0, expect.stringMatching(/two\/data\/x +read/)]);
    for (const first of [reader, 'hvs.CAESIJ1234567890abcdefghij', 'own-id-of-a-token']) {
      const refused = await run(`token capabilities ${first} two/data/x`);
      expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('a token cannot be an argument')]);
    }
  });

  it('logs in by name=value, too, with the secret from a file', async () => {
    await done('auth enable approle', 'write auth/approle/role/app token_policies=default');
    const roleId = (await run('read -field=role_id auth/approle/role/app/role-id')).printed;
    const secretFile = join(home, 'secret-id');
    writeFileSync(secretFile, (await run('write -f -field=secret_id auth/approle/role/app/secret-id')).printed);
    const line = `login -method=approle -token-only role_id=${roleId} secret_id=@${secretFile}`;
    expect(await run(line)).toMatchObject({ code: 0, said: '', printed: expect.stringMatching(/^\S+\n$/) });
    const open = await run(`login -method=approle role_id=${roleId} secret_id=open`);
    expect([open.code, open.said]).toEqual([1, expect.stringContaining('secret_id cannot be an argument')]);
  });

  it('looks leases up, renews and revokes them', async () => {
    const made = await json('token create -policy=default -ttl=1h');
    // Real leases would need an outside system; a refusal also proves that the command reaches the service.
    expect((await run('lease lookup auth/token/create/none')).code).toBe(2);
    expect((await run('lease renew -increment=1h auth/token/create/none')).code).toBe(2);
    expect((await run('lease revoke -force x')).code).toBe(1);
    await done('lease revoke -prefix -sync auth/token/create');
    expect((await run('token lookup -', [made.auth.client_token])).code).toBe(2);
  });

  it('rotates, and shows keys, nodes and audit devices', async () => {
    const before = (await json('operator key-status')).term;
    const after = (await json('operator rotate')).term;
    expect(after).toBeGreaterThan(before);
    expect((await json('operator members')).nodes.length).toBeGreaterThan(0);
    expect(await json('operator init -status')).toEqual({ initialized: true });
    expect(await json('audit list')).toEqual(expect.any(Object));
    expect((await run('audit enable file file_path=/tmp/x')).code).toBe(2);
    expect((await run('audit disable none')).code).toBe(0);
  });

  it('prints errors in the format of the answers, and YAML', async () => {
    for (const line of ['read sys/nothing-here', 'raed a', 'read']) {
      const refused = await run(`${line} -format=json`);
      expect(JSON.parse(refused.said)).toEqual({ errors: [expect.any(String)] });
      expect(parseYaml((await run(`${line} --format yaml`)).said)).toEqual({ errors: [expect.any(String)] });
      expect([refused.code, refused.printed]).toEqual([line.startsWith('read s') ? 2 : 1, '']);
    }
    expect(parseYaml((await run('secrets list', [], { BAO_FORMAT: 'yaml' })).printed)['two/']).toMatchObject({
      type: 'kv',
    });
  });

  it('prefers our own variable names to those of other products', async () => {
    const env = {
      SERVICE_ADDR: address(),
      VAULT_ADDR: 'http://127.0.0.1:9',
      BAO_TOKEN: 'wrong',
      SERVICE_TOKEN: secrets.rootToken,
    };
    expect((await run('token lookup', [], env)).code).toBe(0);
    expect((await run('token lookup', [], { BAO_ADDR: address(), VAULT_ADDR: 'http://127.0.0.1:9' })).code).toBe(0);
    expect((await run('token lookup', [], { BAO_TOKEN: 'wrong' })).code).toBe(2);
    expect(await run('token lookup', [], { VAULT_SKIP_VERIFY: 'maybe' })).toMatchObject({ code: 1 });
  });
});

describe('an unknown command', () => {
  it.each([
    ['lookup', 'keystead token lookup'],
    ['stauts', 'keystead status'],
    ['kv gte a', 'keystead kv get'],
    ['operator unsael', 'keystead operator unseal'],
    ['token create --displayname x', '--display-name'],
  ])('like %s is refused with a suggestion: %s', async (line, meant) => {
    const { code, said } = await keystead(line.split(' '), { HOME: home });
    expect([code, said]).toEqual([1, expect.stringMatching(`did you mean .*${meant}`)]);
  });
});
