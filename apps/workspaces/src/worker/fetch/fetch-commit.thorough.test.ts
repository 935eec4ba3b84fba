import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Reach } from '@keystead/outside';
import { extract } from 'tar-stream';
import { kindsHere, testUids } from '../../../test/worker-fixture';
import { isolationOf } from '../isolation/isolation';
import { makeScratch } from '../isolation/scratch';
import { type Fetcher, fetchCommit } from './fetch-commit';

const box = mkdtempSync(path.join(tmpdir(), 'fetch-'));
const work = path.join(box, 'work');
const bare = path.join(box, 'served', 'net.git');
const authorization = 'Authorization: Basic c2VjcmV0OmNhbmFyeQ==';

function git(...args: string[]): string {
  const who = ['-c', 'user.name=Grace', '-c', 'user.email=grace@example.com', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...who, ...args], { cwd: work, encoding: 'utf8', stdio: 'pipe' }).trim();
}

function commit(message: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
    writeFileSync(path.join(work, name), content);
  }
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '-m', message);
  git('push', '--quiet', '--force', bare, 'HEAD:refs/heads/main');
  return git('rev-parse', 'HEAD');
}

/** A commit with a submodule at an address. */
function withSubmodule(url: string): string {
  const sha = commit('Submodule', { 'main.tf': url });
  git('update-index', '--add', '--cacheinfo', `160000,${sha},sub`);
  writeFileSync(path.join(work, '.gitmodules'), `[submodule "sub"]\n path = sub\n url = ${url}\n`);
  git('add', '.gitmodules');
  git('commit', '--quiet', '-m', 'With a submodule');
  git('push', '--quiet', '--force', bare, 'HEAD:refs/heads/main');
  return git('rev-parse', 'HEAD');
}

function withoutSubmodule(): void {
  git('rm', '--quiet', '--cached', 'sub');
  rmSync(path.join(work, '.gitmodules'));
}

/** How the host handles a request before Git sees it. */
type Trick = (req: IncomingMessage, res: ServerResponse) => boolean;

// A Git host for the test: Git's own server behind HTTP.
describe('fetching a commit', () => {
  let trick: Trick = () => false;
  let served = 0;
  let asked: IncomingMessage[] = [];
  /** Hosts before protocol 2 serve only the tips of branches and tags. */
  let old = false;
  const server = createServer((req, res) => {
    asked.push(req);
    if (trick(req, res)) return;
    const [at = '', query = ''] = req.url!.split('?');
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: path.join(box, 'served'),
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: at,
        QUERY_STRING: query,
        REQUEST_METHOD: req.method,
        CONTENT_TYPE: req.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
        ...(old ? {} : { GIT_PROTOCOL: String(req.headers['git-protocol'] ?? '') }),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    req.pipe(child.stdin);
    let head = Buffer.alloc(0);
    let begun = false;
    child.stdout.on('data', (piece: Buffer) => {
      served += piece.length;
      if (begun) return void res.write(piece);
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      begun = true;
      const lines = head.subarray(0, end).toString().split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]));
      const { Status = '200', ...rest } = headers;
      res.writeHead(Number.parseInt(Status, 10), rest);
      res.write(head.subarray(end + 4));
    });
    child.on('close', () => res.end());
  });
  let origin = '';
  let first = '';
  const root = path.join(box, 'scratch');
  const isolation = isolationOf(kindsHere()[0]!, {
    network: 'host',
    show: [],
    limits: { fileBytes: 1e9, processes: 500, openFiles: 4096, memoryBytes: 1024 * 1024 * 1024 },
  });
  const fetcher: Fetcher = {
    isolation,
    scratch: { root, ...testUids },
    reach: new Reach(['127.0.0.1/32']),
    proxies: {},
    limits: { seconds: 60, bytes: 50_000_000 },
  };

  beforeAll(async () => {
    await makeScratch(root);
    mkdirSync(work, { recursive: true });
    execFileSync('git', ['init', '--quiet', '--bare', bare]);
    git('init', '--quiet');
    first = commit('Large', {
      'large.bin': Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * 7919) % 251)),
    });
    rmSync(path.join(work, 'large.bin'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(box, { recursive: true, force: true });
  });
  beforeEach(() => {
    trick = () => false;
    old = false;
    served = 0;
    asked = [];
  });

  const fetched = async (sha: string, more: object = {}, by = fetcher): Promise<Map<string, string>> => {
    const found = new Map<string, string>();
    const fetch = {
      configurationVersionId: 'cv-1',
      workspaceId: 'ws-1',
      attempt: 1,
      cloneUrl: `${origin}/net.git`,
      commit: sha,
      ref: 'refs/heads/main',
      submodules: false,
      authorization,
      sshKey: undefined,
      ...more,
    };
    await fetchCommit(by, fetch, async (archive) => {
      const reading = extract();
      reading.on('entry', (header, stream, next) => {
        let text = '';
        stream.on('data', (piece) => (text += (piece as Buffer).toString()));
        stream.on('end', () => {
          found.set(header.name.replace(/^\.\//, ''), header.linkname ?? text);
          next();
        });
      });
      await pipeline(Readable.from(archive), createGunzip(), reading);
    });
    return found;
  };

  it('accepts files with any names, without history, hooks and filters', async () => {
    symlinkSync('../etc/passwd', path.join(work, 'link'));
    const sha = commit('Names', {
      'main.tf': '',
      'module ü/日本/ñ.tf': 'deep',
      'a\nline.tf': 'odd',
      '-rf.tf': 'dash',
      '.gitattributes': '*.dat filter=lfs diff=lfs merge=lfs -text\n*.tf filter=evil\n',
      '.gitconfig': '[filter "evil"]\n smudge = touch /tmp/pwned\n',
      'large.dat': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n',
    });
    const files = await fetched(sha);
    expect(files.get('module ü/日本/ñ.tf')).toBe('deep');
    expect(files.get('a\nline.tf')).toBe('odd');
    expect(files.get('-rf.tf')).toBe('dash');
    expect(files.get('large.dat')).toContain('git-lfs');
    expect(files.get('link')).toBe('../etc/passwd');
    expect([...files.keys()].filter((name) => name.startsWith('.git/'))).toEqual([]);
    expect(files.has('large.bin')).toBe(false);
    // Without the limit there would have been millions.
    expect(served).toBeLessThan(100_000);
    expect(asked.every(({ headers }) => headers.authorization === authorization.replace('Authorization: ', ''))).toBe(
      true,
    );
  });

  it('fetches an older commit of a branch, even from a host that serves only its tip', async () => {
    const sha = commit('Older', { 'main.tf': 'older' });
    commit('Newer', { 'main.tf': 'newer' });
    expect((await fetched(sha)).get('main.tf')).toBe('older');
    old = true;
    expect((await fetched(sha)).get('main.tf')).toBe('older');
    await expect(fetched(sha, { ref: undefined })).rejects.toThrow(/unadvertised object/);
  });

  it.each(['http://169.254.169.254/latest/', 'file:///etc/passwd', 'http://127.0.0.2:1/net.git', 'ext::sh -c id'])(
    'a redirect of a host to %s is not followed',
    async (Location) => {
      trick = (_req, res) => {
        res.writeHead(302, { Location }).end();
        return true;
      };
      await expect(fetched(first)).rejects.toMatchObject({ name: 'FetchFailed' });
      expect(asked).toHaveLength(1);
    },
  );

  it.each([
    'file:///etc/passwd',
    'ssh://git@127.0.0.1/net.git',
    'ext::sh -c id',
    'http://169.254.169.254/net.git',
    'http://10.0.0.1/net.git',
    'http://name:word@127.0.0.1/net.git',
  ])('nothing is fetched from %s', async (cloneUrl) => {
    await expect(fetched(first, { cloneUrl })).rejects.toMatchObject({ name: 'FetchFailed', again: false });
    expect(asked).toEqual([]);
  });

  it('a host that stalls halfway is given up after a while, and can be tried again', async () => {
    trick = (req, res) => {
      if (req.method === 'GET') return false;
      res.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
      res.write('0');
      return true;
    };
    const patient = { ...fetcher, limits: { ...fetcher.limits, seconds: 3 } };
    await expect(fetched(first, {}, patient)).rejects.toMatchObject({
      again: true,
      message: 'the commit was not fetched within 3 seconds',
    });
  });

  it('a commit above the limit is not fetched again', async () => {
    const small = { ...fetcher, limits: { ...fetcher.limits, bytes: 1_000_000 } };
    await expect(fetched(first, {}, small)).rejects.toMatchObject({ again: false });
  });

  it.each<[string, string[], boolean]>([
    ['from any host', [], true],
    ['from a named host', ['here'], true],
    ['from no other host, if hosts are named', ['https://git.example.com'], false],
  ])('a submodule is fetched %s', async (_, named, isAsked) => {
    const neighbour = createServer((req, res) => {
      asked.push(req);
      res.writeHead(404).end();
    });
    neighbour.listen(0, '127.0.0.1');
    await once(neighbour, 'listening');
    const other = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`;
    const origins =
      named.length === 0 ? undefined : new Set([origin, ...named.map((one) => (one === 'here' ? other : one))]);
    const tip = withSubmodule(`${other}/internal.git`);
    try {
      const failure = fetched(tip, { submodules: true }, { ...fetcher, origins });
      await expect(failure).rejects.toThrow(isAsked ? /not found/ : /transport 'closed' not allowed/);
      expect(asked.some(({ url }) => url?.startsWith('/internal.git'))).toBe(isAsked);
      expect(asked.some(({ url }) => url?.startsWith('/net.git'))).toBe(true);
    } finally {
      neighbour.close();
      withoutSubmodule();
    }
  });

  it.each(['file:///etc', 'ext::sh -c "touch pwned"', '/etc'])('no submodule comes from %s', async (url) => {
    const tip = withSubmodule(url);
    expect([...(await fetched(tip)).keys()]).toContain('main.tf');
    await expect(fetched(tip, { submodules: true })).rejects.toThrow(/transport .* not allowed|could not be fetched/);
    withoutSubmodule();
  });
});
