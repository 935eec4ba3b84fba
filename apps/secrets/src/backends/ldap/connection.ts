import net from 'node:net';
import tls, { type SecureVersion } from 'node:tls';
import { usualReach } from '@keystead/outside';
import { Client } from 'ldapts';
import type { LdapConfig } from './config';

/** How long a kept connection may be idle, because firewalls silently drop idle connections. */
const idleMs = 15_000;
/**
 * The maximum age of a kept connection, because its name may resolve to another address, and certificates are checked
 * only when connecting.
 */
const longestMs = 300_000;
/** The largest accepted message, because the client buffers a message until it is complete. */
const longestAnswerBytes = 8 * 1024 * 1024;
/** A version such as `tls12` in the notation of the TLS library. */
const versionOf = (name: string): SecureVersion => `TLSv1${name === 'tls10' ? '' : `.${name.at(-1)}`}` as SecureVersion;

/**
 * A connection to a directory that connects only once. The client library would reconnect automatically, but
 * anonymously and, after StartTLS, in clear text. The next bind would then send a password in clear text.
 */
export class DirectoryConnection {
  readonly bornMs = performance.now();
  private readonly client: Client;
  private readonly tlsOptions: tls.ConnectionOptions;
  private readonly startsTls: boolean;
  private socket: net.Socket | undefined;
  private closed = false;
  private receivedBytes = 0;
  private hangUp: (error: Error) => void = () => {};

  constructor(url: string, config: LdapConfig) {
    const host = new URL(url).hostname;
    this.tlsOptions = {
      host,
      servername: /^[\d.]+$|:/.test(host) ? '' : host,
      minVersion: versionOf(config.tls_min_version),
      maxVersion: versionOf(config.tls_max_version),
      rejectUnauthorized: !config.insecure_tls,
      ...(config.certificate ? { ca: [config.certificate] } : {}),
      ...(config.client_tls_cert ? { cert: config.client_tls_cert, key: config.client_tls_key } : {}),
    };
    this.startsTls = config.starttls && url.startsWith('ldap:');
    const first = () => {
      if (this.socket) throw connectionLost();
    };
    const plain = (port: number, to: string) => {
      first();
      return this.watch(net.connect({ port, host: to, ...usualReach.toward(to) }), 'connect');
    };
    const secured = (...args: [tls.ConnectionOptions] | [number, string, tls.ConnectionOptions]) => {
      // StartTLS calls the function in this way. It uses the existing socket.
      if (args.length === 1) {
        this.socket?.removeAllListeners('data');
        return this.watch(tls.connect(args[0]), 'secureConnect');
      }
      first();
      const [port, to, options] = args;
      return this.watch(tls.connect({ ...options, port, host: to, ...usualReach.toward(to) }), 'secureConnect');
    };
    this.client = new Client({
      url,
      timeout: Math.max(1, config.request_timeout) * 1000,
      connectTimeout: Math.max(1, config.connection_timeout) * 1000,
      strictDN: false,
      ...(url.startsWith('ldaps:') ? { tlsOptions: this.tlsOptions } : {}),
      createConnection: plain as typeof net.connect,
      createSecureConnection: secured as typeof tls.connect,
    });
  }

  /** Whether the other side has closed the connection. */
  get isOver(): boolean {
    return this.closed;
  }

  /** Connects, unless the first operation will connect. */
  async begin(): Promise<void> {
    if (this.startsTls) await this.run((client) => client.startTLS(this.tlsOptions));
  }

  /**
   * Runs one operation at a time. Fails as soon as the connection is lost, because the client library would keep
   * waiting for a response.
   */
  run<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.hangUp = reject;
      this.receivedBytes = 0;
      if (this.closed) reject(connectionLost());
      else ask(this.client).then(resolve, reject);
    });
  }

  /** Sets whether the connection keeps the process alive. */
  keepsProcessAlive(process: boolean): void {
    if (process) this.socket?.ref();
    else this.socket?.unref();
  }

  async close(): Promise<void> {
    // If the connection is already closed, the client would wait forever for an answer.
    if (!this.closed) await this.client.unbind().catch(() => {});
  }

  private watch<T extends net.Socket>(socket: T, ready: 'connect' | 'secureConnect'): T {
    this.socket = socket;
    const count = (bytes: Buffer) => {
      this.receivedBytes += bytes.length;
      if (this.receivedBytes <= longestAnswerBytes) return;
      this.hangUp(new Error('the answer is larger than 8 MiB'));
      socket.destroy();
    };
    // This waits for the event at which the library itself begins to listen.
    socket.once(ready, () => socket.on('data', count));
    return socket.once('close', () => {
      this.closed = true;
      this.hangUp(connectionLost());
    });
  }
}

const connectionLost = (): Error => new Error('the connection was lost');

interface Kept {
  readonly connection: DirectoryConnection;
  readonly timer: NodeJS.Timeout;
}

/** Idle connections, by all their parameters. */
export class KeptConnections {
  private readonly connections = new Map<string, Kept[]>();

  /** An idle connection with exactly these parameters; undefined if there is none. */
  take(key: string): DirectoryConnection | undefined {
    for (let one = this.connections.get(key)?.pop(); one; one = this.connections.get(key)?.pop()) {
      clearTimeout(one.timer);
      this.tidy(key);
      if (one.connection.isOver) continue;
      one.connection.keepsProcessAlive(true);
      return one.connection;
    }
    return undefined;
  }

  /** Keeps a connection for reuse, or closes it if it is old. */
  async give(key: string, connection: DirectoryConnection): Promise<void> {
    if (connection.isOver) return;
    if (performance.now() - connection.bornMs > longestMs) return connection.close();
    connection.keepsProcessAlive(false);
    const drop = () => {
      this.connections.set(
        key,
        (this.connections.get(key) ?? []).filter((one) => one.connection !== connection),
      );
      this.tidy(key);
      void connection.close();
    };
    const timer = setTimeout(drop, idleMs).unref();
    this.connections.set(key, [...(this.connections.get(key) ?? []), { connection, timer }]);
  }

  private tidy(key: string): void {
    if (this.connections.get(key)?.length === 0) this.connections.delete(key);
  }
}
