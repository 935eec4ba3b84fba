import fs, {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@keystead/server';
import { createService } from '../src/service';
import { until } from './fresh-storage';
import { startNode } from './nodes';
import { startSecrets, testConfig } from './start-secrets';

const sealKey = 'ab'.repeat(32);
const box = mkdtempSync(path.join(tmpdir(), 'audit-by-api-'));
afterAll(() => rmSync(box, { recursive: true }));
const directory = (name: string): string => {
  const at = path.join(box, name);
  mkdirSync(at);
  return at;
};
// biome-ignore lint/suspicious/noExplicitAny: lines of every kind
const linesOf = (file: string): any[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('auditing by API without its setting', () => {
  const secrets = startSecrets();

  it('is refused, and the setting that turns it on is named', async () => {
    for (const verb of ['write', 'put'] as const) {
      const { body } = await secrets.root[verb]('sys/audit/x', { type: 'file', options: { file_path: 'x' } }).expect(
        400,
      );
      expect(body.errors).toEqual([expect.stringContaining('SECRETS_AUDIT_BY_API_DIRECTORY')]);
    }
    await secrets.root.delete('sys/audit/x').expect(204);
  });
});

describe('auditing by API', () => {
  const folder = directory('one');
  const outside = directory('outside');
  const configured = path.join(folder, 'configured.log');
  const secrets = startSecrets({
    env: { SECRETS_AUDIT_BY_API_DIRECTORY: folder, SECRETS_AUDIT_FILE: configured },
  });
  const at = (name: string) => path.join(folder, name);
  const enable = (name: string, options: object, more: object = {}) =>
    secrets.root.write(`sys/audit/${name}`, { type: 'file', options, ...more });
  const refusal = async (name: string, options: object, more: object = {}): Promise<string> =>
    (await enable(name, options, more).expect(400)).body.errors[0];

  it('enables a device, which gets the lines from then on, and disables it', async () => {
    await secrets.root
      .put('sys/audit/mine', { type: 'file', description: 'of the team', options: { file_path: at('mine.log') } })
      .expect(204);
    await secrets.root.write('cubbyhole/audited', { colour: 'very-green' }).expect(204);
    const { body } = await secrets.root.read('sys/audit').expect(200);
    expect(Object.keys(body.data)).toEqual(['file/', 'mine/']);
    expect(body.data['mine/']).toEqual({
      type: 'file',
      description: 'of the team',
      options: { file_path: at('mine.log') },
      local: false,
      path: 'mine/',
    });
    const hashed = (await secrets.root.write('sys/audit-hash/mine', { input: 'very-green' }).expect(200)).body.data
      .hash;
    const lines = linesOf(at('mine.log'));
    expect(lines[0]).toMatchObject({ type: 'enabled', device: 'mine/' });
    expect(lines[1]).toMatchObject({
      type: 'response',
      request: { path: 'sys/audit/mine' },
      response: { status: 204 },
    });
    const about = lines.filter(({ request }) => request?.path === 'cubbyhole/audited');
    expect(about.map(({ type, request }) => [type, request.data.colour])).toEqual([
      ['request', hashed],
      ['response', hashed],
    ]);
    expect(statSync(at('mine.log')).mode & 0o777).toBe(0o600);

    await secrets.root.delete('sys/audit/mine').expect(204);
    const length = statSync(at('mine.log')).size;
    await secrets.root.read('cubbyhole/audited').expect(200);
    expect(statSync(at('mine.log')).size).toBe(length);
    expect((await secrets.root.read('sys/audit').expect(200)).body.data).not.toHaveProperty(['mine/']);
    await secrets.root.write('sys/audit-hash/mine', { input: 'x' }).expect(400);
    await secrets.root.delete('sys/audit/mine').expect(204);
  });

  it('accepts the options of a file, and refuses unsupported ones by name', async () => {
    await enable('all', { path: 'all.log', mode: '0640', prefix: '@audit: ', format: 'json', log_raw: 'false' }).expect(
      204,
    );
    await secrets.root.read('cubbyhole/nothing').expect(404);
    const text = readFileSync(at('all.log'), 'utf8');
    expect(
      text
        .trim()
        .split('\n')
        .every((line) => line.startsWith('@audit: {')),
    ).toBe(true);
    expect(statSync(at('all.log')).mode & 0o777).toBe(0o640);
    const shown = (await secrets.root.read('sys/audit').expect(200)).body.data['all/'];
    expect(shown.options).toEqual({
      file_path: 'all.log',
      mode: '0640',
      prefix: '@audit: ',
      format: 'json',
      log_raw: 'false',
    });
    await secrets.root.delete('sys/audit/all').expect(204);
    expect(await refusal('no', { file_path: 'no.log', log_raw: true })).toContain('log_raw');
    expect(await refusal('no', { file_path: 'no.log', format: 'jsonx' })).toContain('format');
    expect(await refusal('no', { file_path: 'no.log', hmac_accessor: 'perhaps' })).toContain('hmac_accessor');
    expect(await refusal('no', { file_path: 'no.log', elide_list_responses: 'true' })).toContain(
      'elide_list_responses',
    );
    for (const mode of ['0700', '0602', '9', '600x']) {
      expect(await refusal('no', { file_path: 'no.log', mode })).toContain('mode');
    }
    for (const prefix of ['a\nb', 'x'.repeat(129)]) {
      expect(await refusal('no', { file_path: 'no.log', prefix })).toContain('prefix');
    }
    expect(await refusal('no', {})).toBe('file_path is required');
    expect(await refusal('no', { file_path: 'no.log' }, { type: 'kafka' })).toContain('type must be file');
    expect(await refusal('no', { file_path: 'no.log' }, { description: 'x'.repeat(1025) })).toContain('description');
    expect(await refusal('n'.repeat(129), { file_path: 'no.log' })).toContain('path');
    expect(existsSync(at('no.log'))).toBe(false);
  });

  it('writes in its directory only', async () => {
    writeFileSync(path.join(outside, 'theirs.log'), 'theirs\n');
    symlinkSync(path.join(outside, 'theirs.log'), at('link.log'));
    symlinkSync(path.join(outside, 'new.log'), at('dangling.log'));
    symlinkSync(outside, at('door'));
    mkdirSync(at('below'));
    for (const file_path of [
      '../outside/x.log',
      path.join(outside, 'x.log'),
      `${folder}/../outside/x.log`,
      `${folder}/below/x.log`,
      `${folder}/door/x.log`,
      `${folder}/./x.log`,
      'below/x.log',
      'door/x.log',
      '..',
      '.',
      '',
      folder,
      '.hidden',
      'x\0.log',
      'stdout',
      'discard',
      '/dev/null',
    ]) {
      expect(await refusal('out', { file_path })).toContain('file_path');
    }
    for (const name of ['link.log', 'dangling.log', 'below', 'door']) {
      expect(await refusal('out', { file_path: name })).toMatch(
        /^audit device out\/: (the file cannot be opened|there is something else)/,
      );
    }
    expect(readFileSync(path.join(outside, 'theirs.log'), 'utf8')).toBe('theirs\n');
    expect(existsSync(path.join(outside, 'new.log'))).toBe(false);
    expect((await secrets.root.read('sys/audit').expect(200)).body.data).not.toHaveProperty(['out/']);
  });

  it('allows a path and a file only once, and does not change configured devices', async () => {
    await enable('two/inner', { file_path: 'two.log' }).expect(204);
    for (const name of ['two', 'two/inner', 'two/inner/more', 'file']) {
      expect(await refusal(name, { file_path: 'other.log' })).toBe('path already in use');
    }
    expect(await refusal('three', { file_path: 'two.log' })).toContain('another audit device');
    expect(await refusal('three', { file_path: configured })).toContain('another audit device');
    const { body } = await secrets.root.delete('sys/audit/file').expect(400);
    expect(body.errors[0]).toContain('configuration');
    await secrets.root.delete('sys/audit/two/inner').expect(204);
  });

  it('shows accessors only if configured', async () => {
    await enable('open', { file_path: 'open.log', hmac_accessor: 'false' }).expect(204);
    const made = (await secrets.root.write('auth/token/create', { policies: ['default'] }).expect(200)).body.auth;
    await secrets.as(made.client_token).read('auth/token/lookup-self').expect(200);
    await secrets.root.delete('sys/audit/open').expect(204);
    const open = linesOf(at('open.log'));
    const own = open.filter(({ request }) => request?.path === 'auth/token/lookup-self');
    expect(own.map(({ auth }) => auth.accessor)).toEqual([made.accessor, made.accessor]);
    expect(own[0].auth.client_token).toMatch(/^hmac-sha256:/);
    const answer = open.find(({ type, request }) => type === 'response' && request.path === 'auth/token/create');
    expect(answer.response.auth.accessor).toBe(made.accessor);
    expect(answer.response.auth.client_token).toMatch(/^hmac-sha256:/);
    expect(readFileSync(configured, 'utf8')).not.toContain(made.accessor);
  });

  it('needs one device that accepts a line; with only a full device requests fail, and such a device cannot be enabled', async () => {
    const { writeSync } = fs;
    jest.spyOn(fs, 'writeSync').mockImplementation(((...sent: Parameters<typeof writeSync>) => {
      if (String(sent[1]).includes('"enabled"')) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      return writeSync(...sent);
    }) as typeof writeSync);
    expect(await refusal('full', { file_path: 'full.log' })).toBe('audit device full/: no space left');
    jest.restoreAllMocks();
    expect((await secrets.root.read('sys/audit').expect(200)).body.data).not.toHaveProperty(['full/']);
    await enable('late', { file_path: 'late.log' }).expect(204);
    rmSync(at('late.log'));
    mkdirSync(at('late.log'));
    const { devices } = secrets.service.kernel.audit;
    const before = devices.failures;
    await until(async () => {
      await secrets.root.read('cubbyhole/nothing').expect(404);
      return devices.failures > before;
    });
    expect(await secrets.service.ready()).toEqual({ ready: true, reasons: [] });
    const device = devices.find('file')!;
    const { write } = device;
    device.write = () => Promise.reject(new Error('audit device file/: no space left'));
    const { body } = await secrets.root.write('cubbyhole/unaudited', { a: 1 }).expect(500);
    expect(body.errors[0]).toContain('audit device late/');
    device.write = write;
    await secrets.root.read('cubbyhole/unaudited').expect(404);
    await secrets.root.delete('sys/audit/late').expect(204);
  });

  it('requires sudo in the root namespace', async () => {
    const some = await secrets.withPolicy('path "sys/*" { capabilities = ["create", "read", "update", "delete"] }');
    for (const name of ['sys/audit/x', 'sys/config/auditing/request-headers/x-a']) {
      await some.write(name, { type: 'file', options: { file_path: 'x.log' } }).expect(403);
      await some.delete(name).expect(403);
    }
    await some.read('sys/config/auditing/request-headers').expect(403);
    await secrets.root.write('sys/namespaces/inner').expect(200);
    const inner = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'inner' });
    for (const name of ['sys/audit/x', 'sys/config/auditing/request-headers/x-a']) {
      await inner.write(name, {}).expect(400, { errors: ['operation unavailable in namespaces'] });
      await inner.delete(name).expect(400, { errors: ['operation unavailable in namespaces'] });
    }
  });

  it('decides between two simultaneous requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => enable('race', { file_path: `race-${i % 2}.log` })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 7 }, () => 400)]);
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, i) => enable(`many-${i}`, { file_path: `m${i}.log` })),
    );
    expect(many.filter(({ status }) => status === 204)).toHaveLength(15);
    const names = Object.keys((await secrets.root.read('sys/audit').expect(200)).body.data);
    await Promise.all(names.filter((name) => name !== 'file/').map((name) => secrets.root.delete(`sys/audit/${name}`)));
    expect(Object.keys((await secrets.root.read('sys/audit').expect(200)).body.data)).toEqual(['file/']);
  });

  it('audits the configured headers, hashed on request', async () => {
    const where = 'sys/config/auditing/request-headers';
    await secrets.root.write(`${where}/X-Correlation-Id`).expect(204);
    await secrets.root.write(`${where}/x-origin`, { hmac: true }).expect(204);
    expect((await secrets.root.read(where).expect(200)).body.data).toEqual({
      headers: { 'x-correlation-id': { hmac: false }, 'x-origin': { hmac: true } },
    });
    expect((await secrets.root.read(`${where}/X-Correlation-Id`).expect(200)).body.data).toEqual({
      'X-Correlation-Id': { hmac: false },
    });
    const headers = { 'X-Correlation-ID': 'c-1', 'X-Origin': 'here', 'X-Else': 'no' };
    await secrets.as(secrets.rootToken, headers).read('cubbyhole/with-headers').expect(404);
    const hashed = (await secrets.root.write('sys/audit-hash/file', { input: 'here' }).expect(200)).body.data.hash;
    const audited = () =>
      linesOf(configured)
        .filter(({ request }) => request.path === 'cubbyhole/with-headers')
        .map(({ request }) => request.headers);
    const expected = { 'x-correlation-id': ['c-1'], 'x-origin': [hashed] };
    expect(audited()).toEqual([expected, expected]);

    await secrets.root.delete(`${where}/x-correlation-id`).expect(204);
    await secrets.root.write(`${where}/x-origin`, { hmac: false }).expect(204);
    await secrets.as(secrets.rootToken, headers).read('cubbyhole/with-headers').expect(404);
    expect(audited().slice(2)).toEqual([{ 'x-origin': ['here'] }, { 'x-origin': ['here'] }]);
    await secrets.root.delete(`${where}/X-ORIGIN`).expect(204);
    await secrets.root.read(`${where}/x-origin`).expect(400, { errors: ['Could not find header in config'] });
    await secrets.root.read('cubbyhole/with-headers').expect(404);
    expect(audited().slice(4)).toEqual([undefined, undefined]);
  });

  it('never shows a header with credentials in a line', async () => {
    const where = 'sys/config/auditing/request-headers';
    for (const name of ['X-Service-Token', 'x-vault-token', 'Authorization', 'cookie']) {
      const { body } = await secrets.root.write(`${where}/${name}`, { hmac: false }).expect(400);
      expect(body.errors[0]).toContain('hmac must be true');
    }
    await secrets.root.write(`${where}/X-Service-Token`, { hmac: true }).expect(204);
    await secrets.root.read('cubbyhole/nothing').expect(404);
    await secrets.root.delete(`${where}/X-Service-Token`).expect(204);
    expect(readFileSync(configured, 'utf8')).not.toContain(secrets.rootToken);
    const long = await Promise.all(Array.from({ length: 65 }, (_, i) => secrets.root.write(`${where}/x-${i}`)));
    expect(long.filter(({ status }) => status === 400)).toHaveLength(1);
    await Promise.all(Array.from({ length: 65 }, (_, i) => secrets.root.delete(`${where}/x-${i}`)));
  });

  it('survives sealing', async () => {
    await enable('kept', { file_path: 'kept.log', hmac_accessor: 'false' }).expect(204);
    await secrets.root.write('sys/seal').expect(204);
    for (const key of secrets.recoveryKeys.slice(0, 3))
      await secrets.anonymous.write('sys/unseal', { key }).expect(200);
    await secrets.root.read('cubbyhole/after').expect(404);
    const paths = linesOf(at('kept.log')).map(({ type, request }) => `${type} ${request?.path}`);
    expect(paths).toEqual(expect.arrayContaining(['response sys/seal', 'request cubbyhole/after']));
    await secrets.root.delete('sys/audit/kept').expect(204);
  });
});

describe('a device enabled by API', () => {
  const folder = directory('first');
  const other = directory('second');
  const secrets = startSecrets({ env: { SECRETS_AUDIT_BY_API_DIRECTORY: folder } });

  it('is written by every node once it is answered, in each node’s directory, also after a restart', async () => {
    const node = await startNode(secrets.database.url, { SECRETS_AUDIT_BY_API_DIRECTORY: other });
    const bare = await startNode(secrets.database.url);
    try {
      const root = secrets.rootToken;
      await until(async () => (await node.ask('GET', 'sys/ha-status', root)).body.data?.nodes.length === 3);
      for (let n = 0; n < 2; n++) {
        await secrets.root
          .write(`sys/audit/node-${n}`, { type: 'file', options: { file_path: path.join(folder, `node-${n}.log`) } })
          .expect(204);
        expect((await node.ask('GET', `cubbyhole/asked-${n}`, root)).status).toBe(404);
        const seen = linesOf(path.join(other, `node-${n}.log`)).map(({ request }) => request?.path);
        expect(seen).toContain(`cubbyhole/asked-${n}`);
      }
      const shown = (await node.ask('GET', 'sys/audit', root)).body.data['node-0/'];
      expect(shown.options.file_path).toBe(path.join(other, 'node-0.log'));

      // On a node with auditing by API off the device exists, but fails, so that nothing goes unaudited by mistake.
      const refused = await bare.ask('GET', 'cubbyhole/asked', root);
      expect(refused.status).toBe(500);
      expect(refused.body.errors[0]).toContain('SECRETS_AUDIT_BY_API_DIRECTORY is not set on this node');

      const { service, close } = await again(folder);
      expect(service.kernel.audit.devices.list().map(({ path: at }) => at)).toEqual(['node-0/', 'node-1/']);
      await close();

      expect((await node.ask('DELETE', 'sys/audit/node-0', root)).status).toBe(204);
      await secrets.root.delete('sys/audit/node-1').expect(204);
      expect((await bare.ask('GET', 'cubbyhole/asked', root)).status).toBe(404);
      await secrets.root.read('cubbyhole/last').expect(404);
      const left = linesOf(path.join(folder, 'node-0.log')).map(({ request }) => request?.path);
      expect(left).not.toContain('cubbyhole/last');
    } finally {
      await node.stop();
      await bare.stop();
    }
  });

  async function again(at: string) {
    const config = testConfig(secrets.database.url, { SECRETS_AUDIT_BY_API_DIRECTORY: at, SECRETS_SEAL_KEY: sealKey });
    const service = await createService(config, { log: createLogger({ name: 'secrets', level: 'silent' }) });
    return { service, close: () => service.close() };
  }

  it('needs an existing directory when a node starts', async () => {
    await expect(again(path.join(folder, 'nowhere'))).rejects.toThrow('SECRETS_AUDIT_BY_API_DIRECTORY');
  });
});
