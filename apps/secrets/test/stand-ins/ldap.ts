import net from 'node:net';
import tls from 'node:tls';
import { testCertificate } from '@keystead/testing';
import { BerReader, BerWriter } from 'ldapts';

/** An entry of the stand-in; one with a password can bind. */
export interface DirectoryEntry {
  readonly dn: string;
  readonly password?: string;
  attributes: Record<string, string[]>;
}

type Test = (entry: DirectoryEntry) => boolean;

/** A directory for tests: binds, searches and StartTLS in the real protocol, so that real clients can check it. */
export class DirectoryStandIn {
  entries: DirectoryEntry[] = [];
  /** Answers every request with this result code. */
  failure: number | undefined;
  /** Whether it has stopped answering. */
  silent = false;
  /** Adds a referral to the answers of searches. */
  reference: string | undefined;
  /** Closes the connection after this many binds. */
  hangUpAfterBinds = Number.POSITIVE_INFINITY;
  readonly binds: { dn: string; password: string; secure: boolean }[] = [];
  readonly searches: { base: string; filter: string }[] = [];
  connections = 0;
  mostAtOnce = 0;
  private open = new Set<net.Socket>();
  private readonly server: net.Server;

  constructor(private readonly secure = false) {
    const serve = (socket: net.Socket) => this.serve(socket, secure);
    this.server = secure ? tls.createServer(testCertificate, serve) : net.createServer(serve);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  /** Closes all connections. */
  hangUp(): void {
    for (const socket of this.open) socket.destroy();
  }

  async stop(): Promise<void> {
    this.hangUp();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    return `ldap${this.secure ? 's' : ''}://127.0.0.1:${(this.server.address() as net.AddressInfo).port}`;
  }

  private serve(socket: net.Socket, secure: boolean): void {
    this.connections++;
    this.open.add(socket);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.open.size);
    socket.on('close', () => this.open.delete(socket));
    this.listen(socket, socket, secure);
  }

  private listen(raw: net.Socket, socket: net.Socket, secure: boolean): void {
    let rest: Buffer = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    const receive = (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let length = lengthOf(rest); length !== undefined && rest.length >= length; length = lengthOf(rest)) {
        const message = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (this.silent) continue;
        if (this.handle(message, socket, secure) === 'starttls') {
          socket.removeListener('data', receive);
          const upgraded = new tls.TLSSocket(raw, { isServer: true, ...testCertificate });
          this.listen(raw, upgraded, true);
        }
      }
    };
    socket.on('data', receive);
  }

  private handle(message: Buffer, socket: net.Socket, secure: boolean): string | undefined {
    const reader = new BerReader(message);
    reader.readSequence();
    const id = reader.readInt()!;
    const operation = reader.readSequence();
    const answer = (tag: number, code: number) => socket.write(resultOf(id, tag, this.failure ?? code));
    if (operation === 0x60) {
      reader.readInt();
      const dn = reader.readString()!;
      const password = reader.readString(0x80)!;
      this.binds.push({ dn, password, secure });
      if (this.binds.length > this.hangUpAfterBinds) socket.end();
      else answer(0x61, this.knows(dn, password) ? 0 : 49);
    } else if (operation === 0x63) {
      this.search(reader, id, socket);
    } else if (operation === 0x77) {
      answer(0x78, 0);
      return 'starttls';
    } else socket.end();
    return undefined;
  }

  private knows(dn: string, password: string): boolean {
    if (password === '') return true;
    const upn = (entry: DirectoryEntry) => entry.attributes.userPrincipalName?.includes(dn);
    return this.entries.some((entry) => (same(entry.dn, dn) || upn(entry)) && entry.password === password);
  }

  private search(reader: BerReader, id: number, socket: net.Socket): void {
    const base = reader.readString()!;
    const scope = reader.readEnumeration();
    reader.readEnumeration();
    const sizeLimit = reader.readInt()!;
    reader.readInt();
    reader.readBoolean();
    const [test, text] = filterOf(reader);
    this.searches.push({ base, filter: text });
    const below = ({ dn }: DirectoryEntry) =>
      scope === 0 ? same(dn, base) : same(dn, base) || dn.toLowerCase().endsWith(`,${base.toLowerCase()}`);
    const found = this.failure === undefined ? this.entries.filter((entry) => below(entry) && test(entry)) : [];
    const shown = sizeLimit > 0 ? found.slice(0, sizeLimit) : found;
    for (const entry of shown) socket.write(entryOf(id, entry));
    if (this.reference) socket.write(referenceOf(id, this.reference));
    socket.write(resultOf(id, 0x65, this.failure ?? (shown.length < found.length ? 4 : 0)));
  }
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The length of the first message in a buffer; undefined if not known yet. */
function lengthOf(buffer: Buffer): number | undefined {
  if (buffer.length < 2) return undefined;
  const first = buffer[1]!;
  if (first < 0x80) return first + 2;
  const bytes = first & 0x7f;
  return buffer.length < 2 + bytes ? undefined : buffer.readUIntBE(2, bytes) + 2 + bytes;
}

function filterOf(reader: BerReader): [Test, string] {
  const tag = reader.peek()!;
  if (tag === 0x87) {
    const name = reader.readString(0x87)!;
    return [
      ({ attributes }) => name.toLowerCase() === 'objectclass' || valuesOf(attributes, name).length > 0,
      `(${name}=*)`,
    ];
  }
  reader.readSequence();
  const end = reader.offset + reader.length;
  if (tag === 0xa3) {
    const [name, value] = [reader.readString()!, reader.readString()!];
    return [({ attributes }) => valuesOf(attributes, name).some((one) => same(one, value)), `(${name}=${value})`];
  }
  const parts: [Test, string][] = [];
  while (reader.offset < end) parts.push(filterOf(reader));
  const texts = parts.map(([, text]) => text).join('');
  const tests = parts.map(([test]) => test);
  if (tag === 0xa0) return [(entry) => tests.every((test) => test(entry)), `(&${texts})`];
  if (tag === 0xa1) return [(entry) => tests.some((test) => test(entry)), `(|${texts})`];
  if (tag === 0xa2) return [(entry) => !tests[0]!(entry), `(!${texts})`];
  throw new Error(`the stand-in knows no filter ${tag.toString(16)}`);
}

function valuesOf(attributes: Record<string, string[]>, name: string): string[] {
  return Object.entries(attributes).find(([one]) => same(one, name))?.[1] ?? [];
}

function message(id: number, tag: number, write: (writer: BerWriter) => void): Buffer {
  const writer = new BerWriter();
  writer.startSequence();
  writer.writeInt(id);
  writer.startSequence(tag);
  write(writer);
  writer.endSequence();
  writer.endSequence();
  return writer.buffer;
}

const resultOf = (id: number, tag: number, code: number): Buffer =>
  message(id, tag, (writer) => {
    writer.writeEnumeration(code);
    writer.writeString('');
    writer.writeString(code === 0 ? '' : 'cn=secret,ou=of,dc=the,dc=directory');
  });

const entryOf = (id: number, { dn, attributes }: DirectoryEntry): Buffer =>
  message(id, 0x64, (writer) => {
    writer.writeString(dn);
    writer.startSequence();
    for (const [name, values] of Object.entries(attributes)) {
      writer.startSequence();
      writer.writeString(name);
      writer.startSequence(0x31);
      for (const value of values) writer.writeString(value);
      writer.endSequence();
      writer.endSequence();
    }
    writer.endSequence();
  });

const referenceOf = (id: number, url: string): Buffer => message(id, 0x73, (writer) => writer.writeString(url));
