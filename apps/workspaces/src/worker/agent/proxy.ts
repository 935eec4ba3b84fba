import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';

/** The proxy for a URL, from the usual environment variables; undefined if none is used. */
export function proxyFor(address: URL, environment: NodeJS.ProcessEnv): URL | undefined {
  const read = (name: string) => environment[name.toLowerCase()] || environment[name] || undefined;
  const text = read(address.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? read('ALL_PROXY');
  if (text === undefined || isExempt(address, read('NO_PROXY') ?? '')) return undefined;
  return new URL(/^\w+:\/\//.test(text) ? text : `http://${text}`);
}

function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const own = port || (protocol === 'https:' ? '443' : '80');
  return list.split(',').some((entry) => {
    const [, name = '', entryPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.trim().toLowerCase()) ?? [];
    if (entry.trim() === '*') return true;
    if (name === '' || (entryPort !== undefined && entryPort !== own)) return false;
    return hostname === name || hostname.endsWith(`.${name}`);
  });
}

/** The CA certificates and the host name to verify a service with. If absent, the defaults of Node are used. */
export interface ServerTrust {
  ca?: string;
  servername?: string;
}

/** Keeps connections to an address open, through the tunnel of a proxy if there is one. */
export function connectionsTo(address: URL, proxy: URL | undefined, trust: ServerTrust): http.Agent {
  const isSecure = address.protocol === 'https:';
  const options = { keepAlive: true, maxSockets: 64, timeout: 120_000 };
  if (!proxy) return isSecure ? new https.Agent({ ...options, ...trust }) : new http.Agent(options);
  return new Tunnels(options, address, proxy, trust);
}

/** The callback that Node expects from a `createConnection` that opens the connection later. */
type Connected = (error: Error | null, socket?: Socket) => void;

class Tunnels extends http.Agent {
  constructor(
    options: http.AgentOptions,
    private readonly address: URL,
    private readonly proxy: URL,
    private readonly trust: ServerTrust,
  ) {
    super(options);
  }

  // Before version 22, Node's own type lacks the callback.
  override createConnection = ((_options: object, done: Connected) => {
    this.open().then(
      (socket) => done(null, socket),
      (error) => done(error),
    );
    return undefined;
  }) as never;

  private open(): Promise<Socket> {
    const { hostname, port, protocol } = this.address;
    const isSecure = protocol === 'https:';
    const to = `${hostname}:${port || (isSecure ? 443 : 80)}`;
    const { username, password } = this.proxy;
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const asking = (this.proxy.protocol === 'https:' ? https : http).request(this.proxy, {
      method: 'CONNECT',
      path: to,
      headers: {
        Host: to,
        ...(username === '' ? {} : { 'Proxy-Authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
      },
      agent: false,
      timeout: 30_000,
    });
    return new Promise((resolve, reject) => {
      asking.once('error', reject);
      asking.once('timeout', () => asking.destroy(new Error('the proxy does not answer')));
      asking.once('connect', (answer, socket) => {
        if (answer.statusCode !== 200) {
          socket.destroy();
          reject(new Error(`the proxy answered ${answer.statusCode}`));
          return;
        }
        if (!isSecure) {
          resolve(socket);
          return;
        }
        const name = hostname.replace(/^\[(.*)\]$/, '$1');
        const secured = tls.connect({
          socket,
          host: name,
          servername: /^[\d.:]+$/.test(name) ? undefined : name,
          ...this.trust,
        });
        secured.once('secureConnect', () => resolve(secured));
        secured.once('error', reject);
      });
      asking.end();
    });
  }
}
