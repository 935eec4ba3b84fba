import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@keystead/testing';

/** The answer of one of the two servers. */
export interface Answer {
  readonly status: number;
  /** The parsed JSON body; otherwise `text` with one character for each byte. Empty if there was none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** A request to a server; `path` is below `/v1/`. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server with the secrets API, over kept connections. */
export class Speaker {
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: 16 });

  constructor(private readonly port: number) {}

  send({ method, path: target, token, body, headers }: Sent): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          host: '127.0.0.1',
          port: this.port,
          agent: this.agent,
          method,
          path: `/v1/${target}`,
          headers: {
            ...(token === undefined ? {} : { 'X-Vault-Token': token }),
            ...(text === undefined
              ? {}
              : { 'Content-Type': bodyType(method), 'Content-Length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => resolve({ status: response.statusCode!, body: parsed(Buffer.concat(chunks)) }));
        },
      );
      request.once('error', reject);
      request.end(text);
    });
  }

  /** Like `send`; throws if the request fails. */
  async must(sent: Sent): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.send(sent);
    if (status >= 300) throw new Error(`${sent.method} ${sent.path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  close(): void {
    this.agent.destroy();
  }
}

function bodyType(method: string): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  } catch {
    return { text: bytes.toString('latin1') };
  }
}

/** A reference server in memory, on a free port of the loopback. */
export interface ReferenceServer {
  readonly speaker: Speaker;
  readonly address: string;
  readonly rootToken: string;
  stop(): Promise<void>;
}

/** Starts the development server of a `bao` or `vault` program and waits until it answers. */
export async function startReferenceServer(program: string): Promise<ReferenceServer> {
  const home = mkdtempSync(path.join(tmpdir(), 'reference-server-'));
  const port = await freePort();
  const rootToken = 'reference-root';
  const args = ['server', '-dev', '-dev-no-store-token', `-dev-root-token-id=${rootToken}`];
  const child = spawn(program, [...args, `-dev-listen-address=127.0.0.1:${port}`, '-log-level=error'], {
    env: { ...process.env, HOME: home },
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const speaker = new Speaker(port);
  const stop = async () => {
    speaker.close();
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await ready(speaker, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { speaker, address: `http://127.0.0.1:${port}`, rootToken, stop };
}

async function ready(speaker: Speaker, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the reference server ended with ${child.exitCode}`);
    const status = await speaker.send({ method: 'GET', path: 'sys/health' }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the reference server does not answer');
}
