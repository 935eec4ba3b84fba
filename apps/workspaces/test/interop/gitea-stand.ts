import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram, freePort } from '@keystead/testing';

const usualSeconds = 180;
/**
 * Longer than all waits of a test on a busy machine: each wait has its own limit, and names the condition that it
 * waited for.
 */
export const longestTestMs = 20 * 60_000;
const execute = (program: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) =>
  promisify(execFile)(program, args, { ...options, timeout: usualSeconds * 1000 });

/** The Gitea binary, if there is one here. */
export const giteaProgram = process.env.KEYSTEAD_GITEA || findProgram('gitea');

/** Waits for a condition; prints its name every half minute. */
export async function eventually<T>(
  what: string,
  find: () => Promise<T | undefined | false>,
  seconds = usualSeconds,
): Promise<T> {
  let late = (_: Error): void => undefined;
  const bound = new Promise<never>((_, reject) => {
    late = reject;
  });
  const timer = setTimeout(() => late(new Error(`${what}: not in ${seconds} seconds`)), seconds * 1000);
  const telling = setInterval(() => process.stderr.write(`still waiting for ${what}\n`), 30_000);
  try {
    for (;;) {
      const found = await Promise.race([find(), bound]);
      if (found !== undefined && found !== false) return found;
      await Promise.race([sleep(200), bound]);
    }
  } finally {
    clearTimeout(timer);
    clearInterval(telling);
  }
}

/** A separate Gitea in a folder, with one user. */
export class Gitea {
  readonly user = 'grace';
  private readonly password = 'a long enough password';
  private child: ChildProcess | undefined;
  private token = '';
  port = 0;

  constructor(private readonly box: string) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get secret(): string {
    return this.token;
  }

  async start(): Promise<void> {
    this.port ||= await freePort();
    const { box } = this;
    mkdirSync(path.join(box, 'gitea'), { recursive: true });
    const ini = path.join(box, 'gitea', 'app.ini');
    const program = realpathSync(giteaProgram!);
    writeFileSync(
      ini,
      `RUN_MODE = prod
WORK_PATH = ${box}/gitea
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${this.port}
ROOT_URL = ${this.url}/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = ${path.dirname(program)}
[database]
DB_TYPE = sqlite3
PATH = ${box}/gitea/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = a key only for this test
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = Warn
[service]
DISABLE_REGISTRATION = true
`,
    );
    const env = { PATH: process.env.PATH, HOME: box, USER: 'root' };
    const run = (...args: string[]) => execute(program, ['--config', ini, ...args], { env, cwd: box });
    const known = this.token !== '';
    if (!known) {
      await run('migrate');
      const person = ['--username', this.user, '--password', this.password, '--email', 'grace@example.com', '--admin'];
      await run('admin', 'user', 'create', ...person, '--must-change-password=false');
    }
    this.child = spawn(program, ['--config', ini, 'web'], { env, cwd: box, stdio: 'ignore' });
    await eventually('Gitea', () =>
      fetch(`${this.url}/api/v1/version`).then(
        (answer) => answer.ok,
        () => false,
      ),
    );
    if (known) return;
    const { sha1 } = await this.call('POST', `users/${this.user}/tokens`, { name: 'all', scopes: ['all'] });
    this.token = sha1 as string;
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  /** Calls Gitea's API. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer of another system
  async call(method: string, at: string, body?: object): Promise<any> {
    const basic = `Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`;
    const headers = { authorization: this.token ? `token ${this.token}` : basic, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(usualSeconds * 1000);
    const sent = { method, headers, body: body && JSON.stringify(body), signal };
    const answer = await fetch(`${this.url}/api/v1/${at}`, sent).catch((error: Error) => {
      throw new Error(`${method} ${at}: ${error.message}`, { cause: error });
    });
    if (!answer.ok) throw new Error(`${method} ${at}: ${answer.status} ${await answer.text()}`);
    const text = await answer.text();
    return text === '' ? undefined : JSON.parse(text);
  }

  /** An application that its user registers, with some redirect addresses. */
  async application(...redirects: string[]): Promise<{ key: string; secret: string }> {
    const given = { name: 'keystead', confidential_client: true, redirect_uris: redirects };
    const made = await this.call('POST', 'user/applications/oauth2', given);
    return { key: made.client_id, secret: made.client_secret };
  }

  /** Its user opens an address in a browser, signs in and consents; returns where the browser is redirected. */
  async agree(address: string): Promise<URL> {
    const cookies = new Map<string, string>();
    const open = async (at: string, form?: Record<string, string>) => {
      const answer = await fetch(new URL(at, this.url), {
        method: form ? 'POST' : 'GET',
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(form ? { body: new URLSearchParams(form) } : {}),
      });
      for (const line of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const text = await answer.text();
      const fields = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
      return { answer, fields: Object.fromEntries(fields.map(([, name, value]) => [name, unescaped(value!)])) };
    };
    const { fields } = await open('/user/login');
    await open('/user/login', { ...fields, user_name: this.user, password: this.password });
    const asked = await open(address);
    const agreed = asked.answer.headers.get('location')
      ? asked
      : await open('/login/oauth/grant', { ...asked.fields, granted: 'true' });
    const location = agreed.answer.headers.get('location');
    if (!location) throw new Error(`no redirect: ${agreed.answer.status}`);
    return new URL(location, this.url);
  }

  /** A repository of its user, cloned. */
  async repository(name: string): Promise<Clone> {
    await this.call('POST', 'user/repos', { name, default_branch: 'main', auto_init: true });
    const folder = path.join(this.box, 'clones', name);
    const address = `http://${this.user}:${this.token}@127.0.0.1:${this.port}/${this.user}/${name}.git`;
    await execute('git', ['clone', '--quiet', address, folder]);
    return new Clone(folder, `${this.user}/${name}`);
  }
}

const unescaped = (text: string): string =>
  text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))).replace(/&amp;/g, '&');

/** A clone to work in. */
export class Clone {
  constructor(
    readonly folder: string,
    readonly identifier: string,
  ) {}

  async git(...args: string[]): Promise<string> {
    const who = ['-c', 'user.name=Grace', '-c', 'user.email=grace@example.com'];
    return (await execute('git', [...who, ...args], { cwd: this.folder })).stdout.trim();
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      const at = path.join(this.folder, name);
      mkdirSync(path.dirname(at), { recursive: true });
      rmSync(at, { force: true });
      writeFileSync(at, text);
    }
  }

  async commit(message: string): Promise<void> {
    await this.git('add', '--all');
    await this.git('commit', '--quiet', '--allow-empty', '-m', message);
  }

  /** Commits everything and pushes it; returns the commit. */
  async push(message: string, branch = 'main', ...more: string[]): Promise<string> {
    await this.commit(message);
    await this.git('push', '--quiet', ...more, 'origin', `HEAD:${branch}`);
    return this.git('rev-parse', 'HEAD');
  }
}
