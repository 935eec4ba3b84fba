import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A Git host on loopback that answers JSON: its answers are fields that tests change. */
export abstract class FakeHost {
  origin = '';
  private readonly server = createServer((req, res) => {
    let text = '';
    req.on('data', (piece) => (text += piece));
    req.on('end', async () => {
      const [status, body] = await this.respond(req, text);
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });

  /** The status and the body of an answer. */
  protected abstract respond(req: IncomingMessage, text: string): Promise<readonly [number, unknown]>;

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.origin = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
