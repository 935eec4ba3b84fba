import { createServer, type Server, type Socket } from 'node:net';

/** Starts a server with just enough of PostgreSQL's protocol to report its version. */
export function startOldPostgres(version: number): Promise<Server> {
  const server = createServer((socket) => greet(socket, version));
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function greet(socket: Socket, version: number): void {
  let started = false;
  socket.on('error', () => {});
  socket.on('data', (data) => {
    if (!started) {
      started = true;
      socket.write(Buffer.concat([message('R', int32(0)), ready()]));
    } else if (data[0] === 'Q'.charCodeAt(0)) {
      socket.write(Buffer.concat([row('server_version_num', String(version)), message('C', text('SHOW')), ready()]));
    } else {
      socket.end();
    }
  });
}

function row(name: string, value: string): Buffer {
  const column = Buffer.concat([text(name), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]);
  const described = message('T', Buffer.concat([int16(1), column]));
  return Buffer.concat([described, message('D', Buffer.concat([int16(1), int32(value.length), Buffer.from(value)]))]);
}

const ready = () => message('Z', Buffer.from('I'));
const text = (value: string) => Buffer.from(`${value}\0`);
const message = (type: string, body: Buffer) => Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
