import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { namesOf } from '../src/command';
import { commands, elsewhere, sections } from '../src/commands/all';
import { keystead as runKeystead } from './run-keystead';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'keystead-cli-'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const keystead = (args: string[], env: Record<string, string> = {}) => runKeystead(args, { HOME: home, ...env });

describe('the program', () => {
  it('prints its help', async () => {
    const { code, printed } = await keystead(['--help']);
    expect(code).toBe(0);
    for (const word of ['status', 'unseal', 'login', 'write', 'rekey', 'keystead help global', 'Exit codes']) {
      expect(printed).toContain(word);
    }
    expect(printed.split('\n').length).toBeLessThan(75);
    // Each command and group once.
    const names = Object.values(sections).flat();
    const first = new Set([...commands.flatMap(namesOf).map((name) => name.split(' ')[0]), 'help']);
    expect([...names].sort()).toEqual([...first].sort());
    expect(printed).not.toContain('undefined');
    expect((await keystead([])).code).toBe(1);
  });

  it.each(Object.entries(elsewhere))('names the replacement of %s', async (name, instead) => {
    const { code, said } = await keystead([name, '-x']);
    expect([code, said]).toEqual([1, expect.stringContaining(`unknown command '${name}' (instead: ${instead})`)]);
  });

  it.each([
    ['an unknown command', ['raed', 'a'], 'unknown command'],
    ['a missing argument', ['read'], "missing required argument 'path'"],
    ['an unknown option', ['read', 'a', '--fast'], "unknown option '--fast'"],
    ['a bad address', ['status', '--address', 'localhost'], 'is not an address'],
    ['a bad format', ['status', '--format', 'xml'], 'is not a format'],
    ['a value without a name', ['write', 'a/b', 'green'], 'give name=value'],
    ['invalid JSON', ['write', 'a/b', 'a:={'], 'is not JSON'],
    ['an invalid number', ['token', 'create', '--uses', 'many'], '--uses many'],
    ['an unknown login method', ['login', 'bob', '--method', 'magic'], 'is not a login method'],
    ['no token to revoke', ['token', 'revoke'], 'use --accessor or --self'],
  ])('exits with 1 for %s', async (_, args, message) => {
    const { code, said, printed } = await keystead(args, { SERVICE_ADDR: 'http://127.0.0.1:9' });
    expect([code, printed]).toEqual([1, '']);
    expect(said).toContain(message);
  });

  it('exits with 2 if there is no answer, and with 1 if code 2 means that the service is sealed', async () => {
    expect((await keystead(['list', 'sys/mounts', '--address', 'http://127.0.0.1:9'])).code).toBe(2);
    const { code, said } = await keystead(['status', '--address', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(said).toContain('cannot be reached');
    expect(said).toContain('Set another address with --address or SERVICE_ADDR');
  });

  it.each([
    ['VAULT_ADDR', { VAULT_ADDR: '127.0.0.1:8200' }, []],
    ['BAO_ADDR', { VAULT_ADDR: 'http://127.0.0.1:9', BAO_ADDR: 'localhost' }, []],
    ['--address', { VAULT_ADDR: 'http://127.0.0.1:9' }, ['--address', 'localhost']],
  ])('names %s as the source of a bad address', async (name, env, args) => {
    const { code, said } = await keystead(['status', ...args], env as Record<string, string>);
    expect([code, said]).toEqual([1, expect.stringContaining(`(${name})`)]);
  });

  it('explains the common flags on a separate page, which the help of each command names, and links errors to it', async () => {
    const { printed } = await keystead(['token', 'create', '--help']);
    expect(printed).toContain('For all commands: keystead help global');
    expect(printed).not.toContain('SERVICE_ADDR');
    const global = await keystead(['help', 'global']);
    expect(global.code).toBe(0);
    for (const word of ['--address <url>', '--tls-skip-verify', 'SERVICE_ADDR', 'WORKSPACES_ORGANIZATION']) {
      expect(global.printed).toContain(word);
    }
    expect(global.printed).not.toContain('Begin with');
    expect((await keystead(['help', 'token', 'create'])).printed).toBe(printed);
    const { said } = await keystead(['token', 'create', '--fast']);
    expect(said).toContain('(keystead token create --help says more)');
  });

  it('accepts the names that other programs have for groups', async () => {
    for (const [typed, name] of [
      ['workspace', 'ws'],
      ['organization', 'org'],
    ]) {
      const long = await keystead([typed!, 'list', '--help']);
      expect([long.code, long.printed]).toEqual([0, (await keystead([name!, 'list', '--help'])).printed]);
    }
  });

  it('adds the details of the service to a refusal', async () => {
    const server = createServer((_request, response) => {
      response.statusCode = 404;
      response.end(JSON.stringify({ errors: ['unsupported path'], warnings: ['use kv get'] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { said } = await keystead(['read', 'kv/a', '--address', address], { SERVICE_TOKEN: 's.one' });
    expect(said).toContain('404: unsupported path; use kv get');
    server.close();
  });

  it('prints its version', async () => {
    const { code, printed } = await keystead(['--version']);
    expect([code, printed]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  it('asks for no name before it knows the login method, and reads no missing CA file', async () => {
    expect((await keystead(['login', '--method', 'magic'])).said).toContain('is not a login method');
    const { code, said } = await keystead(['status', '--address', 'https://127.0.0.1:9', '--ca-cert', '/absent.pem']);
    expect([code, said]).toEqual([1, expect.stringContaining('/absent.pem cannot be read')]);
  });

  it('uses no other token if SERVICE_TOKEN is set and empty', async () => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, 's.kept', { mode: 0o600 });
    const env = {
      SERVICE_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SERVICE_TOKEN_FILE: tokenFile,
    };
    for (const empty of ['', ' ']) {
      const { code, said } = await keystead(['token', 'revoke', '--self'], { ...env, SERVICE_TOKEN: empty });
      expect([code, said, requests]).toEqual([1, expect.stringContaining('SERVICE_TOKEN is set but empty'), 0]);
    }
    expect((await keystead(['token', 'revoke', '--self'], env)).code).toBe(0);
    expect(requests).toBe(1);
    server.close();
  });

  it.each([
    [403, 'permission denied', 'no token was sent: run keystead login', {}],
    [
      403,
      'permission denied',
      'with the token of SERVICE_TOKEN; keystead token capabilities',
      { SERVICE_TOKEN: 's.other' },
    ],
    [403, 'permission denied', 'with the token of VAULT_TOKEN', { VAULT_TOKEN: 's.other' }],
    [503, 'Service is sealed', 'keystead operator unseal', {}],
  ])('explains what to do after %i %s: %s', async (status, error, advice, env) => {
    const server = createServer((_request, response) => {
      response.statusCode = status;
      response.end(JSON.stringify({ errors: [error] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, said } = await keystead(['read', 'cubbyhole/x', '--address', address], env);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect([code, said]).toEqual([2, expect.stringContaining(advice)]);
  });
});

describe('the token', () => {
  const answer = (seen: IncomingHttpHeaders[]) =>
    createServer((request, response) => {
      seen.push(request.headers);
      response.end('{"data":{"keys":["a"]}}');
    });

  async function withServer(work: (env: Record<string, string>, seen: IncomingHttpHeaders[]) => Promise<void>) {
    const seen: IncomingHttpHeaders[] = [];
    const server = answer(seen);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await work({ SERVICE_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }, seen);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  // If this failed, no one would notice that other users can copy the token file.
  it('is not read from a file that others can read', async () => {
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, 's.abc', { mode: 0o600 });
    chmodSync(tokenFile, 0o644);
    const { code, said } = await keystead(['read', 'a', '--token-file', tokenFile]);
    expect(code).toBe(1);
    expect(said).toContain('chmod 600');
  });

  it('of the environment takes precedence over the file', async () => {
    const tokenFile = join(home, 'token');
    writeFileSync(tokenFile, 'from-file', { mode: 0o600 });
    await withServer(async (env, seen) => {
      await keystead(['list', 'a', '--token-file', tokenFile], env);
      await keystead(['list', 'a', '--token-file', tokenFile], { ...env, SERVICE_TOKEN: 'from-environment' });
      expect(seen.map((headers) => headers['x-service-token'])).toEqual(['from-file', 'from-environment']);
    });
  });

  it('and the namespace are sent as headers, and calls that need no token send none', async () => {
    await withServer(async (env, seen) => {
      await keystead(['list', 'a', '--namespace', 'team'], { ...env, SERVICE_TOKEN: 't' });
      await keystead(['status'], { ...env, SERVICE_TOKEN: 't' });
      expect(seen[0]).toMatchObject({ 'x-service-token': 't', 'x-service-namespace': 'team' });
      expect(seen[1]).not.toHaveProperty('x-service-token');
    });
  });
});
