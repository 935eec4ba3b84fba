import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseUnreachable, MigrationFailed } from '@keystead/postgres';
import { type CommandSpec, flagOf, longOf } from '../src/command';
import { commands } from '../src/commands/all';
import { asProblem } from '../src/failure';
import { exitCodes, Problem } from '../src/problem';
import { keystead } from './run-keystead';

const home = mkdtempSync(join(tmpdir(), 'keystead-failures-'));
const present = join(home, 'present');
writeFileSync(present, 'no archive, no policy, no key');
mkdirSync(join(home, 'folder'));
symlinkSync('loop', join(home, 'loop'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const nothing = () => {};
// Commands that only print static text cannot fail here.
const all = commands.filter(({ name }) => !['version', 'completion', 'print token'].includes(name));

/** Arguments for a command; each file argument is this file. */
function call({ name, args = {}, flags = {} }: CommandSpec, file: string): string[] {
  const argumentFor = (argument: string) =>
    argument === '<file>' ? file : argument === '<service>' ? 'secrets' : 'name';
  const given = Object.keys(args).filter((argument) => argument.startsWith('<'));
  const needed = Object.entries(flags).filter(([, flag]) => flagOf(flag).required);
  const more: Record<string, string[]> = {
    'token revoke': ['--self'],
    'operator generate-root': ['--init', '--pgp-key', file],
    'operator rekey': ['--pgp-key', file],
    'operator init': ['--pgp-key', file],
    'backup verify': ['--seal-key-file', file],
    'backup create': ['--seal-key-file', file],
    'audit verify': ['--heads', file],
    'kv list': ['name'],
    'kv scan': ['name'],
    'run create': ['--configuration', file],
    ...Object.fromEntries(['write', 'patch', 'kv put', 'kv patch'].map((one) => [one, [`value=@${file}`]])),
  };
  return [
    ...name.split(' '),
    ...given.map(argumentFor),
    ...needed.flatMap(([flag]) => [longOf(flag), longOf(flag) === '--from' ? 'http://127.0.0.1:9' : '1']),
    ...(more[name] ?? []),
  ];
}

const documented = [exitCodes.usage, exitCodes.refused] as number[];
const typed = Array.from({ length: 8 }, () => 'typed');

/** Why a command's result is wrong; empty if it ended with a message and a documented exit code. */
async function disorder(args: string[], env: Record<string, string>): Promise<string[]> {
  const { code, said } = await keystead(args, { HOME: home, ...env }, typed);
  const fine = documented.includes(code) || code === 0;
  const stack = /^ {4}at |node:internal|\bTypeError\b|undefined|NaN|\[object/m.test(said);
  return !fine || stack || said.split('\n').length > 8 ? [`keystead ${args.join(' ')}: ${code}\n${said}`] : [];
}

const workspaceService = { WORKSPACES_TOKEN: 'x', WORKSPACES_ORGANIZATION: 'o', WORKSPACES_WORKSPACE: 'w' };
// A copy from another server waits and tries again for minutes; its own tests break its connections.
const calling = all.filter(({ name }) => !/^(workspaces|backup) /.test(name));

describe('errors of the service', () => {
  const servers: (Server | TcpServer)[] = [];
  const addresses: Record<string, string> = { 'no answer': 'http://127.0.0.1:9' };
  const listening = (server: Server | TcpServer): Promise<number> => {
    servers.push(server);
    return new Promise((done) => server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port)));
  };
  const answering = (answer: Parameters<typeof createHttp>[1]) => listening(createHttp(answer as never));
  beforeAll(async () => {
    const page = await answering((_, response) => void response.end('<html>a page</html>'));
    const half = await answering((_, response) => {
      response.writeHead(200, { 'Content-Length': '1000' });
      response.write('{"data":', () => response.destroy());
    });
    const fault = await answering((_, response) => void response.writeHead(500).end('broken'));
    const list = await answering((_, response) => void response.end('[]'));
    const nullBody = await answering((_, response) => void response.end('null'));
    const empty = await answering((_, response) => void response.writeHead(204).end());
    const strange = await answering(
      (_, response) => void response.end('{"data":{"keys":5,"heads":"x"},"errors":{"a":1}}'),
    );
    const broken = await listening(createTcp((socket) => socket.destroy()));
    const noise = await listening(createTcp((socket) => socket.on('error', nothing).end('220 mail\r\n')));
    Object.assign(addresses, {
      'it speaks plain http': `https://127.0.0.1:${page}`,
      'it answers a page': `http://127.0.0.1:${page}`,
      'it breaks off': `http://127.0.0.1:${half}`,
      'it fails': `http://127.0.0.1:${fault}`,
      'it answers a list': `http://127.0.0.1:${list}`,
      'it answers null': `http://127.0.0.1:${nullBody}`,
      'it answers nothing': `http://127.0.0.1:${empty}`,
      'it answers something strange': `http://127.0.0.1:${strange}`,
      'it hangs up': `http://127.0.0.1:${broken}`,
      'it speaks something else': `http://127.0.0.1:${noise}`,
    });
  });
  afterAll(() => {
    for (const server of servers) {
      (server as Server).closeAllConnections?.();
      server.close();
    }
  });

  it.each([
    ...['no answer', 'it speaks plain http', 'it answers a page', 'it breaks off', 'it fails', 'it answers a list'],
    ...[
      'it answers null',
      'it answers nothing',
      'it answers something strange',
      'it hangs up',
      'it speaks something else',
    ],
  ])('when %s, every command ends with a sentence and a documented code', async (what) => {
    expect(addresses[what]).toBeDefined();
    const found: string[] = [];
    const { said } = await keystead(['status'], { HOME: home, SERVICE_ADDR: addresses[what]! });
    expect(said).not.toMatch(/openssl|deps|routines/i);
    for (const leaf of calling) {
      found.push(
        ...(await disorder(call(leaf, present), {
          SERVICE_ADDR: addresses[what]!,
          WORKSPACES_ADDR: addresses[what]!,
          SERVICE_TOKEN: 's.x',
          ...workspaceService,
        })),
      );
    }
    expect(found).toEqual([]);
  });
});

describe('errors of a file', () => {
  it.each([
    ['is not there', () => join(home, 'absent')],
    ['is a folder', () => join(home, 'folder')],
    ['has a file in place of a folder', () => join(present, 'below')],
    ['is a symbolic link to itself', () => join(home, 'loop')],
    ['has other content', () => present],
    ['has a name that is too long', () => join(home, 'x'.repeat(300))],
  ])('when it %s, every command ends with a sentence and a documented code', async (_, file) => {
    const found: string[] = [];
    const nowhere = {
      ...workspaceService,
      SERVICE_ADDR: 'http://127.0.0.1:9',
      WORKSPACES_ADDR: 'http://127.0.0.1:9',
      SECRETS_DATABASE_URL: 'postgresql://127.0.0.1:9/none',
    };
    for (const leaf of all.filter(({ name }) => !name.startsWith('workspaces '))) {
      const args = call(leaf, file());
      found.push(
        ...(await disorder(args, { ...nowhere, SERVICE_TOKEN: 's.x' })),
        ...(await disorder(args, { ...nowhere, SERVICE_TOKEN_FILE: file() })),
        ...(await disorder(args, { ...nowhere, SERVICE_CACERT: file(), SERVICE_ADDR: 'https://127.0.0.1:9' })),
      );
    }
    const files = { IMPORT_TOKEN_FILE: file(), WORKSPACES_TOKEN_FILE: file() };
    for (const leaf of all.filter(({ name }) => name.startsWith('workspaces '))) {
      if (file() !== present) found.push(...(await disorder(call(leaf, file()), { ...nowhere, ...files })));
    }
    expect(found).toEqual([]);
  });
});

describe('errors of a database', () => {
  it.each([
    ['is not there', 'postgresql://127.0.0.1:9/none'],
    ['has no address', 'nonsense'],
    ['has half a URL', 'postgresql://127.0.0.1'],
    ['has an invalid host name', 'postgresql://:::/x/y'],
    ['is a missing socket', 'postgresql:///secrets?host=/nowhere'],
  ])('when it %s, a backup ends with a sentence and a documented code', async (_, url) => {
    const file = join(home, 'never.backup');
    for (const args of [
      ['backup', 'create', 'secrets', file, '--database-url', url],
      ['backup', 'restore', present, '--database-url', url],
    ]) {
      expect(await disorder(args, {})).toEqual([]);
    }
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });
});

describe('a failure of the system', () => {
  const failed = (message: string, more: object) => Object.assign(new Error(message), more);
  it.each<[string, unknown, number, string]>([
    [
      'a full disk',
      failed('ENOSPC: no space left', { code: 'ENOSPC', path: '/a/b' }),
      1,
      '/a/b cannot be written: no space',
    ],
    ['a full disk, after the file was opened', failed('ENOSPC', { code: 'ENOSPC' }), 1, 'no space is left'],
    ['no permission', failed('EACCES', { code: 'EACCES', path: '/a' }), 1, '/a may not be used'],
    ['a damaged archive', failed('incorrect data check', { code: 'Z_DATA_ERROR' }), 1, 'damaged: incorrect data check'],
    ['a certificate', failed('self-signed', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 2, 'CA of its certificate'],
    ['fetch', failed('fetch failed', { cause: failed('x', { code: 'ECONNREFUSED' }) }), 2, 'is it running there?'],
    ['a full database', failed('full', { code: '53100', severity: 'ERROR' }), 2, 'cannot do this now: full'],
    ['a refusal of the database', failed('no', { code: '42501', severity: 'ERROR' }), 2, 'refused this: no'],
    ['an unavailable database', new DatabaseUnreachable('cannot reach it'), 2, 'cannot reach it'],
    ['a migration', new MigrationFailed('m', 'migration m failed'), 2, 'migration m failed'],
    ['a fault', new TypeError("Cannot read properties of undefined (reading 'x')"), 70, 'a fault of the program'],
    ['a thrown value that is not an error', 'what', 70, 'keystead failed: what'],
  ])('%s is a sentence with a code', (_, thrown, code, sentence) => {
    const problem = asProblem(thrown);
    expect(problem).toBeInstanceOf(Problem);
    expect([problem.exitCode, problem.message]).toEqual([code, expect.stringContaining(sentence)]);
    expect(problem.message).not.toContain('\n');
  });

  it('has a code that the help and the guide document', async () => {
    const { printed } = await keystead(['--help'], {});
    const guide = readFileSync(resolve(__dirname, '../../../docs/guides/command-line.md'), 'utf8');
    for (const code of Object.values(exitCodes)) {
      expect(printed).toMatch(new RegExp(`Exit codes[^]*\\b${code} `));
      expect(guide).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'));
    }
  });
});
