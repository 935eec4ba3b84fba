import net, { type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Receiver, SharedPort } from './shared-port';

/** A process that takes what it is handed, unless it is told not to. */
class FakeProcess implements Receiver {
  readonly handed: number[] = [];
  opened: { port?: number; error?: { code?: string } } | undefined;
  takes = true;

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
    if (!this.takes) return true;
    socket!.end(this.answer, () => void this.port.hear(this, { type: 'port:taken', id }));
    return true;
  }
}

/** What is answered at a port; undefined where nobody is there. */
function ask(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = '';
    net
      .connect(port, '127.0.0.1')
      .on('data', (chunk) => {
        said += chunk;
      })
      .on('end', () => resolve(said))
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

  it('hands connections out in turn, and those that a dead process has not taken to the next', async () => {
    const [first, second] = [await join('first'), await join('second')];
    const at = first.opened!.port!;
    expect(second.opened!.port).toBe(at);
    expect([await ask(at), await ask(at), await ask(at)]).toEqual(['first', 'second', 'first']);
    first.takes = false;
    await ask(at);
    const waiting = ask(at);
    while (first.handed.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    port.gone(first);
    expect(await waiting).toBe('second');
    expect(await ask(at)).toBe('second');
    expect(port.receivers).toHaveLength(1);
  });

  it('keeps who comes while nobody takes anything, and refuses them when the last has left', async () => {
    const only = await join('only');
    const at = only.opened!.port!;
    port.gone(only);
    const waiting = ask(at);
    const next = await join('next');
    expect(await waiting).toBe('next');
    await port.hear(next, { type: 'port:leave' });
    expect(await ask(at)).toBeUndefined();
  });

  it('tells a process why it cannot be opened', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port: taken } = server.address() as net.AddressInfo;
    const one = await join('one', taken);
    server.close();
    expect(one.opened?.error?.code).toBe('EADDRINUSE');
    expect(port.receivers).toHaveLength(0);
  });
});
