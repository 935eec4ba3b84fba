import { createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';

const BATCH = 0x01;
const ANSWER = 0x04;
const TRANSACTION = 0x0e;
const LOGIN = 0x10;
const PRELOGIN = 0x12;

/** A bit in the status of a packet. */
const RESET = 0x08;

const OFFERS_NO_TLS = 0x02;
const NEEDS_TLS = 0x03;

interface Login {
  password: string;
  isDisabled: boolean;
  /** The databases in which the login has a user. */
  readonly users: Set<string>;
}

class SqlError extends Error {}

const ucs = (value: string) => Buffer.from(value, 'utf16le');
const short = (value: string) => Buffer.concat([Buffer.from([value.length]), ucs(value)]);
const u16 = (...values: number[]) => Buffer.concat(values.map((value) => Buffer.from([value & 255, value >> 8])));
const done = (bits = 0) => Buffer.concat([Buffer.from([0xfd]), u16(bits, 0), Buffer.alloc(8)]);

/** The parts of TDS for logins and the statements that manage them. Databases: `master` and `app`. */
export class MssqlStandIn {
  logins = new Map<string, Login>();
  /** Received batches of statements. */
  readonly batches: string[] = [];
  /** Connections whose login arrived in clear text. */
  readonly inClear: string[] = [];
  /** Redirects every login to this address. */
  sendsTo: { readonly host: string; readonly port: number } | undefined;
  offersTls = true;
  /** Connections break when a client resets them. */
  endsOnReset = false;
  port = 0;
  readonly sessions = new Set<Session>();
  private readonly server: Server;

  /** With a certificate and its key in PEM. */
  constructor(readonly tls: { readonly cert: string; readonly key: string }) {
    this.server = createServer((socket) => this.sessions.add(new Session(this, socket)));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as { port: number }).port;
  }

  async stop(): Promise<void> {
    for (const session of this.sessions) session.end();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** One connection. */
export class Session {
  readonly id: number;
  login = '';
  private database = 'master';
  private before: Map<string, Login> | undefined;
  private out: { write(bytes: Buffer): unknown };
  private received: Buffer = Buffer.alloc(0);
  private payload: Buffer[] = [];
  private isTls = false;

  constructor(
    private readonly server: MssqlStandIn,
    private readonly socket: Socket,
  ) {
    this.id = 51 + server.sessions.size;
    this.out = socket;
    socket.on('close', () => server.sessions.delete(this)).on('error', () => {});
    socket.on('data', (piece) => this.take(piece));
  }

  end(): void {
    this.socket.destroy();
  }

  private take(piece: Buffer): void {
    this.received = Buffer.concat([this.received, piece]);
    while (this.received.length >= 8 && this.received.length >= this.received.readUInt16BE(2)) {
      const size = this.received.readUInt16BE(2);
      const [type, status] = this.received;
      this.payload.push(this.received.subarray(8, size));
      this.received = this.received.subarray(size);
      if ((status! & RESET) !== 0 && this.server.endsOnReset) {
        this.end();
        return;
      }
      if ((status! & 1) === 0) continue;
      const message = Buffer.concat(this.payload);
      this.payload = [];
      if (type === PRELOGIN) this.greet();
      else this.send(this.answer(type!, message));
      if (type === PRELOGIN && this.server.offersTls) return;
    }
  }

  private send(message: Buffer): void {
    for (let at = 0; at < message.length; at += 4000) {
      const piece = message.subarray(at, at + 4000);
      const head = Buffer.from([ANSWER, at + 4000 < message.length ? 0 : 1, 0, 0, 0, 0, 0, 0]);
      head.writeUInt16BE(piece.length + 8, 2);
      this.out.write(Buffer.concat([head, piece]));
    }
  }

  private greet(): void {
    const { offersTls } = this.server;
    const options = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
    this.send(Buffer.from([...options, 16, 0, 0, 0, 0, 0, offersTls ? NEEDS_TLS : OFFERS_NO_TLS]));
    if (offersTls) this.startTls();
  }

  /** The TLS handshake is inside TDS packets; after it, TLS is around everything. */
  private startTls(): void {
    const { socket } = this;
    socket.removeAllListeners('data');
    const inner = new Wrapped(socket);
    const tls = new TLSSocket(inner as unknown as Socket, {
      isServer: true,
      secureContext: createSecureContext({ ...this.server.tls, maxVersion: 'TLSv1.2' }),
    });
    tls.on('secure', () => {
      this.isTls = true;
    });
    tls.on('data', (piece) => this.take(piece)).on('error', () => socket.destroy());
    this.out = tls;
  }

  private answer(type: number, message: Buffer): Buffer {
    try {
      if (type === LOGIN) return this.logIn(message);
      const body = message.subarray(message.readUInt32LE(0));
      if (type === TRANSACTION) throw new SqlError('transactions are begun by statements here');
      if (type !== BATCH) throw new SqlError(`no such request: ${type}`);
      const sql = body.toString('utf16le');
      // The client's settings for its connection.
      if (/^set \w/.test(sql)) return done();
      this.server.batches.push(sql);
      return Buffer.concat([...this.rows(sql), done()]);
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      if (this.before && /XACT/.test(this.server.batches.join())) this.rollBack();
      return Buffer.concat([failed(error.message), done(2)]);
    }
  }

  private logIn(message: Buffer): Buffer {
    const field = (at: number) => {
      const from = message.readUInt16LE(at);
      return message.subarray(from, from + 2 * message.readUInt16LE(at + 2));
    };
    const name = field(40).toString('utf16le');
    if (!this.isTls) this.server.inClear.push(name);
    const secret = Buffer.from(field(44)).map((byte) => {
      const plain = byte ^ 0xa5;
      return ((plain & 15) << 4) | (plain >> 4);
    });
    const login = this.server.logins.get(name);
    if (login?.password !== Buffer.from(secret).toString('utf16le') || login.isDisabled) {
      throw new SqlError(`Login failed for user '${name}'.`);
    }
    this.login = name;
    this.database = field(68).toString('utf16le') || 'master';
    const accepted = Buffer.concat([Buffer.from([1, 0x74, 0, 0, 4]), short('Stand-in'), Buffer.from([16, 0, 0, 0])]);
    const parts = [Buffer.from([0xad]), u16(accepted.length), accepted];
    if (this.server.sendsTo) {
      const { host, port } = this.server.sendsTo;
      const place = Buffer.concat([Buffer.from([0]), u16(port, host.length), ucs(host)]);
      const change = Buffer.concat([Buffer.from([20]), u16(place.length), place, u16(0)]);
      parts.push(Buffer.from([0xe3]), u16(change.length), change);
    }
    return Buffer.concat([...parts, done()]);
  }

  private rollBack(): void {
    this.server.logins = this.before ?? this.server.logins;
    this.before = undefined;
  }

  private rows(sql: string): Buffer[] {
    const { logins } = this.server;
    const name = /\[((?:[^\]]|\]\])+)\](?!\])/.exec(sql)?.[1]?.replaceAll(']]', ']') ?? '';
    const literal = /N'((?:[^']|'')*)'/.exec(sql)?.[1]?.replaceAll("''", "'") ?? '';
    const password = /PASSWORD = N?'((?:[^']|'')*)'/.exec(sql)?.[1]?.replaceAll("''", "'");
    const existing = () => {
      const login = logins.get(name);
      if (!login) throw new SqlError(`Cannot alter the login '${name}', because it does not exist`);
      return login;
    };
    if (sql === 'SELECT 1') return table([['1']]);
    if (sql.includes('BEGIN TRANSACTION')) {
      this.before = new Map([...logins].map(([key, login]) => [key, { ...login, users: new Set(login.users) }]));
    } else if (sql.startsWith('COMMIT')) this.before = undefined;
    else if (sql.startsWith('ROLLBACK')) this.rollBack();
    else if (sql.startsWith('USE ')) this.database = name;
    else if (sql.startsWith('CREATE LOGIN')) {
      if (logins.has(name)) throw new SqlError(`The server principal '${name}' already exists.`);
      logins.set(name, { password: password!, isDisabled: false, users: new Set() });
    } else if (sql.startsWith('CREATE USER')) existing().users.add(this.database);
    else if (sql.startsWith('ALTER LOGIN')) existing().password = password!;
    else if (/^IF .*DISABLE$/s.test(sql)) {
      const login = logins.get(name);
      if (login) login.isDisabled = true;
    } else if (sql.includes('s.login_name')) {
      const rows = [...this.server.sessions].map(({ id, login }) => [
        String(id),
        login ?? '',
        '127.0.0.1',
        'app ',
        'sleeping',
        '0',
      ]);
      return table(rows);
    } else if (sql.includes('sys.dm_exec_sessions')) {
      return table([...this.server.sessions].filter(({ login }) => login === literal).map(({ id }) => [String(id)]));
    } else if (sql.startsWith('KILL')) {
      for (const session of this.server.sessions) if (session.id === Number(sql.slice(5))) session.end();
    } else if (sql.includes('sys.databases')) return table([['master'], ['app']]);
    else if (sql.includes('DROP USER')) logins.get(literal)?.users.delete(name);
    else if (/^IF .*DROP LOGIN/s.test(sql)) {
      if ((logins.get(name)?.users.size ?? 0) > 0) throw new SqlError(`The login '${name}' has users.`);
      logins.delete(name);
    } else if (!sql.startsWith('SET ')) throw new SqlError(`Incorrect syntax near '${sql.slice(0, 40)}'.`);
    return [];
  }
}

/** The transport below TLS: its bytes are in packets until the client has finished the handshake, then bare. */
class Wrapped extends Duplex {
  private isBare = false;
  private received: Buffer = Buffer.alloc(0);

  constructor(private readonly socket: Socket) {
    super();
    socket.on('data', (piece: Buffer) => this.unwrap(piece));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {}

  override _write(piece: Buffer, _encoding: string, next: (error?: Error | null) => void): void {
    const head = Buffer.from([PRELOGIN, 1, 0, 0, 0, 0, 0, 0]);
    head.writeUInt16BE(piece.length + 8, 2);
    this.socket.write(this.isBare ? piece : Buffer.concat([head, piece]), next);
  }

  private unwrap(piece: Buffer): void {
    this.received = Buffer.concat([this.received, piece]);
    while (!this.isBare && this.received[0] === PRELOGIN && this.received.length >= this.received.readUInt16BE(2)) {
      const size = this.received.readUInt16BE(2);
      this.push(this.received.subarray(8, size));
      this.received = this.received.subarray(size);
    }
    this.isBare ||= this.received.length > 0 && this.received[0] !== PRELOGIN;
    if (this.isBare && this.received.length > 0) {
      this.push(this.received);
      this.received = Buffer.alloc(0);
    }
  }
}

function table(rows: readonly (readonly string[])[]): Buffer[] {
  const columns = rows[0]?.length ?? 1;
  const collation = Buffer.from([9, 4, 0xd0, 0, 0x34]);
  const column = Buffer.concat([Buffer.alloc(4), u16(9), Buffer.from([0xe7]), u16(8000), collation, short('it')]);
  return [
    Buffer.concat([Buffer.from([0x81]), u16(columns), ...Array.from({ length: columns }, () => column)]),
    ...rows.map((row) =>
      Buffer.concat([Buffer.from([0xd1]), ...row.flatMap((value) => [u16(2 * value.length), ucs(value)])]),
    ),
  ];
}

function failed(message: string): Buffer {
  const error = Buffer.alloc(6);
  error.writeUInt32LE(18_456, 0);
  error[4] = 1;
  error[5] = 14;
  const body = Buffer.concat([error, u16(message.length), ucs(message), short('it'), short(''), Buffer.alloc(4)]);
  return Buffer.concat([Buffer.from([0xaa]), u16(body.length), body]);
}
