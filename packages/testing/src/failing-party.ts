import net from 'node:net';

/** How an outside system can fail. */
export const failings = ['closed', 'silent', 'not of the protocol', 'without end'] as const;

/** An outside system that fails in one way until it recovers. */
export class FailingParty {
  requests = 0;
  private readonly open = new Set<net.Socket>();
  private readonly server = net.createServer((socket) => {
    this.open.add(socket);
    socket.on('error', () => {}).once('data', (request) => this.answer(socket, request));
  });
  private port = 0;

  constructor(private how: (typeof failings)[number] | 'well') {}

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as net.AddressInfo).port;
    if (this.how === 'closed') await this.stop();
  }
  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }
  async recover(): Promise<void> {
    const was = this.how;
    this.how = 'well';
    for (const socket of this.open) socket.destroy();
    if (was === 'closed') await this.start();
    this.requests = 0;
  }
  stop(): Promise<unknown> {
    for (const socket of this.open) socket.destroy();
    return new Promise((resolve) => this.server.close(resolve));
  }

  private answer(socket: net.Socket, request: Buffer): void {
    this.requests++;
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
    if (this.how === 'well') socket.end(`${head}Content-Length: 2\r\nConnection: close\r\n\r\n{}`);
    if (this.how === 'not of the protocol') socket.end('220 mail.example ESMTP\r\n\0\xff\xfe');
    if (this.how !== 'without end') return;
    // A request that begins like an LDAP message gets a response of two gigabytes.
    socket.write(request[0] === 0x30 ? Buffer.from('30847fffffff', 'hex') : `${head}\r\n`);
    const more = () => {
      while (!socket.destroyed && socket.write(Buffer.alloc(256 * 1024, 'x')));
    };
    socket.on('drain', more);
    more();
  }
}
