import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { BSON } from 'mongodb';

type Command = Record<string, unknown> & { readonly $db: string };

interface User {
  password: string;
  readonly roles: unknown;
}

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
const code = (number: number, errmsg: string) => ({ ok: 0, code: number, errmsg });

/** The parts of MongoDB’s wire protocol for logins by SCRAM-SHA-256 and for managing users. */
export class MongodbStandIn {
  readonly users = new Map<string, User>();
  /** Received commands that change users. */
  readonly changes: Command[] = [];
  isPrimary = true;
  /** The answer to creating the next user waits for this. */
  hold: Promise<unknown> | undefined;
  port = 0;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly sessions = new Set<Session>();

  constructor() {
    this.server = createServer((socket) => this.serve(socket));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as { port: number }).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The answer to `$currentOp`: connections with their users, and a task of the server. */
  operations(): object[] {
    const of = ({ user = '' }: Session, connectionId: number) => {
      const [db = '', ...name] = user.split('.');
      return { connectionId, client: '127.0.0.1:40000', active: false, effectiveUsers: [{ db, user: name.join('.') }] };
    };
    return [...[...this.sessions].filter(({ user }) => user !== undefined).map(of), { desc: 'a task', active: true }];
  }

  private serve(socket: Socket): void {
    const session = new Session(this);
    this.sessions.add(session);
    socket.on('close', () => this.sessions.delete(session));
    let received = Buffer.alloc(0);
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => {});
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      while (received.length >= 16 && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        // The first `hello` has the older form: flags, a name, two numbers, then the document.
        const isOlder = message.readInt32LE(12) === 2004;
        const begin = isOlder ? message.indexOf(0, 20) + 9 : 21;
        const command = BSON.deserialize(message.subarray(begin)) as Command;
        const answer = Buffer.from(BSON.serialize(session.answer(command)));
        const head = Buffer.alloc(isOlder ? 36 : 21);
        head.writeInt32LE(head.length + answer.length, 0);
        head.writeInt32LE(message.readInt32LE(4), 8);
        head.writeInt32LE(isOlder ? 1 : 2013, 12);
        if (isOlder) head.writeInt32LE(1, 32);
        const send = () => void socket.write(Buffer.concat([head, answer]));
        if (this.hold && 'createUser' in command) void this.hold.then(send);
        else send();
      }
    });
  }
}

/** One connection. */
class Session {
  user: string | undefined;
  private login:
    | { readonly user: string; readonly text: string; readonly nonce: string; readonly salt: Buffer }
    | undefined;

  constructor(private readonly server: MongodbStandIn) {}

  answer(command: Command): object {
    const [name = ''] = Object.keys(command);
    if (/^(hello|ismaster)$/i.test(name)) {
      const isWritablePrimary = this.server.isPrimary;
      const versions = { minWireVersion: 0, maxWireVersion: 21, maxBsonObjectSize: 1e7, maxMessageSizeBytes: 4e7 };
      return {
        ok: 1,
        helloOk: true,
        isWritablePrimary,
        ismaster: isWritablePrimary,
        ...versions,
        saslSupportedMechs: ['SCRAM-SHA-256'],
      };
    }
    if (name === 'saslStart') return this.begin(command);
    if (name === 'saslContinue') return this.prove(command);
    if (this.user === undefined || !this.server.users.has(this.user))
      return code(13, `command ${name} requires authentication`);
    if (name === 'aggregate')
      return { ok: 1, cursor: { id: 0, ns: 'admin.$cmd', firstBatch: this.server.operations() } };
    if (name === 'connectionStatus' || name === 'endSessions' || name === 'ping') return { ok: 1 };
    return this.change(name, command);
  }

  private change(name: string, command: Command): object {
    const { users, changes, isPrimary } = this.server;
    if (!isPrimary) return code(10107, 'not primary');
    const key = `${command.$db}.${String(command[name])}`;
    if (name === 'createUser') {
      if (users.has(key)) return code(51003, `User "${key}" already exists`);
      users.set(key, { password: String(command.pwd), roles: command.roles });
    } else if (name === 'updateUser' || name === 'dropUser') {
      const user = users.get(key);
      if (!user) return code(11, `User '${key}' not found`);
      if (name === 'dropUser') users.delete(key);
      else user.password = String(command.pwd);
    } else return code(59, `no such command: '${name}'`);
    changes.push(command);
    return { ok: 1 };
  }

  private begin({ payload, $db }: Command): object {
    const text = textOf(payload).slice('n,,'.length);
    const { n = '', r = '' } = fieldsOf(text);
    const nonce = r + randomBytes(12).toString('base64');
    const salt = randomBytes(16);
    const first = `r=${nonce},s=${salt.toString('base64')},i=4096`;
    this.login = { user: `${$db}.${n}`, text: `${text},${first}`, nonce, salt };
    return { ok: 1, conversationId: 1, done: false, payload: Buffer.from(first) };
  }

  private prove({ payload }: Command): object {
    const refused = code(18, 'Authentication failed.');
    const { r, p = '' } = fieldsOf(textOf(payload));
    const { login } = this;
    const user = login && this.server.users.get(login.user);
    if (!user || r !== login.nonce) return refused;
    const salted = pbkdf2Sync(user.password, login.salt, 4096, 32, 'sha256');
    const text = `${login.text},c=biws,r=${r}`;
    const signature = hmac(sha(hmac(salted, 'Client Key')), text);
    const key = Buffer.from(Buffer.from(p, 'base64').map((byte, i) => byte ^ signature[i]!));
    if (!sha(key).equals(sha(hmac(salted, 'Client Key')))) return refused;
    this.user = login.user;
    const proof = hmac(hmac(salted, 'Server Key'), text).toString('base64');
    return { ok: 1, conversationId: 1, done: true, payload: Buffer.from(`v=${proof}`) };
  }
}

const textOf = (payload: unknown): string => Buffer.from((payload as { buffer: Uint8Array }).buffer).toString('utf8');

const fieldsOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(',').map((part) => [part.slice(0, 1), part.slice(2)]));
