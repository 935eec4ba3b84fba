import http from 'node:http';
import net, { type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { drainable } from './drain';
import { type Receiver, SharedPort, shareOut } from './shared-port';

/** A process that accepts the connections it receives, unless set to refuse them. */
class FakeProcess implements Receiver {
  readonly handed: number[] = [];
  opened: { port?: number; error?: { code?: string } } | undefined;
  accepts = true;

  constructor(
    private readonly port: SharedPort,
    private readonly answer: string,
  ) {}

  isConnected(): boolean {
    return true;
  }

  send(message: object, socket?: Socket): boolean {
    const { type, id } = message as { type: string; id: number };
    if (type === 'port:opened') this.opened = message;
    if (type !== 'port:connection') return true;
    this.handed.push(id);
    if (!this.accepts) return true;
    socket!.end(this.answer, () => void this.port.hear(this, { type: 'port:taken', id }));
    return true;
  }
}

/** The answer at a port; undefined if nothing listens. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let received = '';
    net
      .connect(port, '127.0.0.1')
      .on('data', (chunk) => {
        received += chunk;
      })
      .on('end', () => resolve(received))
      .on('error', () => resolve(undefined));
  });
}

describe('a port that processes share', () => {
  let port: SharedPort;
  beforeEach(() => {
    port = new SharedPort();
  });
  afterEach(() => port.close());

  async function join(answer: string, at = 0): Promise<FakeProcess> {
    const one = new FakeProcess(port, answer);
    await port.hear(one, { type: 'port:open', host: '127.0.0.1', port: at });
    return one;
  }

  it('distributes connections in turn, and passes on those that a dead process has not confirmed', async () => {
    const [first, second] = [await join('first'), await join('second')];
    const at = first.opened!.port!;
    expect(second.opened!.port).toBe(at);
    expect([await ask(at), await ask(at), await ask(at)]).toEqual(['first', 'second', 'first']);
    first.accepts = false;
    await ask(at);
    const waiting = ask(at);
    while (first.handed.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    port.drop(first);
    expect(await waiting).toBe('second');
    expect(await ask(at)).toBe('second');
    expect(port.receivers).toHaveLength(1);
  });

  it('holds connections while no process accepts them, and refuses them when the last has left', async () => {
    const only = await join('only');
    const at = only.opened!.port!;
    port.drop(only);
    const waiting = ask(at);
    const next = await join('next');
    expect(await waiting).toBe('next');
    await port.hear(next, { type: 'port:leave' });
    expect(await ask(at)).toBeUndefined();
  });

  it('reports to a process why it cannot be opened', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port: usedPort } = server.address() as net.AddressInfo;
    const one = await join('one', usedPort);
    server.close();
    expect(one.opened?.error?.code).toBe('EADDRINUSE');
    expect(port.receivers).toHaveLength(0);
  });
});

describe('a server on a port of another process', () => {
  const properties = Object.getOwnPropertyDescriptors(process);
  const listenersBefore = process.listeners('message');
  let messages: object[];
  let server: http.Server;
  let front: net.Server;
  let release: () => void;

  beforeEach(async () => {
    messages = [];
    const send = (message: object) => messages.push(message) > 0;
    Object.defineProperty(process, 'send', { configurable: true, writable: true, value: send });
    Object.defineProperty(process, 'connected', { configurable: true, writable: true, value: true });
    server = http.createServer((req, res) => {
      if (req.url === '/slow') release = () => res.end('slow');
      else res.end('quick');
    });
    front = net.createServer({ pauseOnConnect: true }, (socket) => tell({ type: 'port:connection', id: 7 }, socket));
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    for (const name of ['send', 'connected'] as const) {
      if (properties[name]) Object.defineProperty(process, name, properties[name]);
      else delete process[name];
    }
    for (const listener of process.listeners('message')) {
      if (!listenersBefore.includes(listener)) process.off('message', listener);
    }
    server.closeAllConnections();
    front.close();
  });
  /** Sends a message only to the server: the test runner listens for messages, too. */
  const tell = (message: object, socket?: Socket) => {
    for (const listener of process.listeners('message')) {
      if (!listenersBefore.includes(listener)) listener(message, socket);
    }
  };
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${(front.address() as net.AddressInfo).port}${path}`).then((answer) => answer.text());
  const share = () => {
    const shared = shareOut(server, { host: '127.0.0.1', port: 81 });
    tell({ type: 'port:opened', port: 82 });
    return shared;
  };

  it('confirms a connection, and answers it', async () => {
    let listening = 0;
    server.on('listening', () => listening++);
    const { port, leave } = await share();
    expect([port, listening]).toEqual([82, 1]);
    expect(await get('/')).toBe('quick');
    tell({ type: 'port:connection', id: 8 });
    tell({ type: 'other:message', id: 9 });
    leave();
    expect(messages).toEqual([
      { type: 'port:open', host: '127.0.0.1', port: 81 },
      { type: 'port:taken', id: 7 },
      { type: 'port:taken', id: 8 },
      { type: 'port:leave' },
    ]);
    Object.defineProperty(process, 'connected', { configurable: true, value: false });
    leave();
    expect(messages).toHaveLength(4);
  });

  it('learns why the port cannot be opened', async () => {
    const shared = shareOut(server, { host: '127.0.0.1', port: 81 });
    tell({ type: 'port:opened', error: { code: 'EACCES', message: 'not allowed' } });
    await expect(shared).rejects.toMatchObject({ code: 'EACCES', message: 'not allowed' });
  });

  it('leaves when it drains, and ends after its answers', async () => {
    let open = 0;
    const drain = drainable(server, () => open++);
    await share();
    const slow = get('/slow');
    while (release === undefined) await new Promise(setImmediate);
    let ended = false;
    const drained = drain({ seconds: 60 }).then(() => {
      ended = true;
    });
    await new Promise(setImmediate);
    expect(open).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(ended).toBe(false);
    release();
    expect(await slow).toBe('slow');
    await drained;
    expect(open).toBe(1);
  });
});
