import { createSocket, type Socket as DatagramSocket, type SocketOptions } from 'node:dgram';
import { connect, isIP, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { setImmediate as aTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { outsideCall, type Reach } from '@keystead/outside';
import type { AuditReceiver, Endpoint } from './receiver';

/** The receiver is up but refuses this line. */
export class LineRefused extends Error {
  override readonly name = 'LineRefused';
}

/** Sends lines to a receiver. One `send` at a time. */
export interface Carrier {
  /** The maximum number of lines in one `send`. */
  readonly most: number;
  /**
   * Sends lines with their line breaks, in order. Throws `LineRefused` or another error; in this case any of the lines
   * may have arrived.
   */
  send(lines: readonly string[]): Promise<void>;
  /** Closes the connection. The next `send` opens a new one. */
  close(): void;
}

/** The maximum number of lines that are sent together. */
const mostLines = 1000;
/** A datagram over IPv4 has at most 65,507 bytes. */
const datagramBytes = 65_507;
/**
 * These statuses mean that the receiver cannot read the body or that the body is too large. The receiver may accept the
 * next body.
 */
const lineStatuses = new Set([400, 413, 415, 422]);

/** `reach` contains the allowed addresses; undefined for a receiver from the configuration. */
export function carrierTo(receiver: AuditReceiver, reach: Reach | undefined): Carrier {
  if (receiver.type === 'http') return new HttpCarrier(receiver, reach);
  const frame = receiver.type === 'syslog' ? syslogFrame(receiver) : (line: string) => line;
  const parts = { frame, reach, timeoutMs: receiver.timeoutMs };
  return receiver.network === 'udp' ? new DatagramCarrier(receiver, parts) : new StreamCarrier(receiver, parts);
}

interface CarrierParts {
  readonly frame: (line: string) => string;
  readonly reach: Reach | undefined;
  readonly timeoutMs: number;
}

/**
 * A line as an RFC 5424 message: in network streams with its length in front (RFC 6587, RFC 5425), in local streams on
 * its own line.
 */
function syslogFrame(receiver: AuditReceiver & { type: 'syslog' }): (line: string) => string {
  const { facility, tag, network } = receiver;
  const informational = 6;
  const host =
    hostname()
      .replace(/[^\x21-\x7e]/g, '')
      .slice(0, 255) || '-';
  return (line) => {
    const text = line.endsWith('\n') ? line.slice(0, -1) : line;
    const head = `<${facility * 8 + informational}>1 ${new Date().toISOString()} ${host} ${tag} ${process.pid}`;
    const message = `${head} audit - ${text}`;
    if (network === 'udp') return message;
    return network === 'unix' ? `${message}\n` : `${Buffer.byteLength(message)} ${message}`;
  };
}

class StreamCarrier implements Carrier {
  readonly most = mostLines;
  private socket: Socket | undefined;

  constructor(
    private readonly to: Endpoint,
    private readonly parts: CarrierParts,
  ) {}

  async send(lines: readonly string[]): Promise<void> {
    const end = AbortSignal.timeout(this.parts.timeoutMs);
    // A connection that the receiver has closed is noticed before anything is written to it.
    await aTurn();
    const socket = this.socket ?? (await this.open(end));
    const text = lines.map(this.parts.frame).join('');
    await within(end, socket, (callback) => socket.write(text, callback));
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private async open(end: AbortSignal): Promise<Socket> {
    const { host, port, network, caCert } = this.to;
    const lookup = network === 'unix' ? undefined : this.parts.reach?.toward(host);
    const tls = {
      host,
      port,
      ...lookup,
      ...(isIP(host) ? {} : { servername: host }),
      ...(caCert ? { ca: caCert } : {}),
    };
    const socket =
      network === 'unix'
        ? connect({ path: host })
        : network === 'tls'
          ? connectTls(tls)
          : connect({ host, port, ...lookup });
    socket.on('error', () => {});
    // Data from the receiver is discarded.
    socket.resume();
    socket.setNoDelay(true).setKeepAlive(true, 30_000).unref();
    await within(end, socket, (callback) =>
      socket.once(network === 'tls' ? 'secureConnect' : 'connect', () => callback()),
    );
    this.socket = socket;
    const fail = () => {
      if (this.socket === socket) this.socket = undefined;
      socket.destroy();
    };
    socket.on('end', fail).on('close', fail);
    return socket;
  }
}

/** Waits for a step of a connection. Destroys the connection if the step fails or takes too long. */
async function within(end: AbortSignal, socket: Socket, step: (callback: (error?: Error | null) => void) => void) {
  const finished = new AbortController();
  try {
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error('no answer in time'));
      if (end.aborted) return late();
      end.addEventListener('abort', late, { once: true, signal: finished.signal });
      const closed = () => reject(new Error('the receiver closed the connection'));
      socket.once('error', reject).once('close', closed);
      finished.signal.addEventListener('abort', () => socket.off('error', reject).off('close', closed), { once: true });
      step((error) => (error ? reject(error) : resolve()));
    });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    finished.abort();
  }
}

class DatagramCarrier implements Carrier {
  readonly most = mostLines;
  private socket: DatagramSocket | undefined;
  private failure: Error | undefined;

  constructor(
    private readonly to: Endpoint,
    private readonly parts: CarrierParts,
  ) {}

  async send(lines: readonly string[]): Promise<void> {
    await aTurn();
    const before = this.failure;
    this.failure = undefined;
    // The kernel reports a closed port of a reachable machine only after the datagram was sent.
    if (before) throw before;
    const socket = this.socket ?? (await this.open());
    const datagrams = lines.map((line) => Buffer.from(this.parts.frame(line)));
    if (datagrams.some(({ length }) => length > datagramBytes))
      throw new LineRefused('the line is too long for a datagram');
    for (const bytes of datagrams) {
      await new Promise<void>((resolve, reject) => {
        socket.send(bytes, (error) => (error ? reject(tooLong(error)) : resolve()));
      });
    }
  }

  close(): void {
    this.socket?.close();
    this.socket = undefined;
  }

  private async open(): Promise<DatagramSocket> {
    const { host, port } = this.to;
    const { reach, timeoutMs } = this.parts;
    const family = isIP(host) === 6 ? 6 : 4;
    reach?.toward(host);
    // The lookup is also called for the local address.
    const lookup: SocketOptions['lookup'] = (name, _, found) =>
      isIP(name)
        ? found(null, name, family)
        : reach!.lookup(name, { family }, (error, address, of) => found(error, String(address), of ?? family));
    const socket = createSocket({ type: `udp${family}`, ...(reach && { lookup }) });
    socket.unref();
    // Do not use `once`: a later error without a listener would end the process.
    let connecting: ((error: Error) => void) | undefined;
    socket.on('error', (error) => {
      if (connecting) return connecting(error);
      this.failure = error;
      if (this.socket === socket) this.close();
    });
    const end = AbortSignal.timeout(timeoutMs);
    try {
      await new Promise<void>((resolve, reject) => {
        connecting = reject;
        end.addEventListener('abort', () => reject(new Error('no answer in time')), { once: true });
        socket.connect(port, host, () => resolve());
      });
    } catch (error) {
      socket.close();
      throw error;
    }
    connecting = undefined;
    this.socket = socket;
    return socket;
  }
}

function tooLong(error: Error): Error {
  return (error as NodeJS.ErrnoException).code === 'EMSGSIZE'
    ? new LineRefused('the line is too long for a datagram')
    : error;
}

class HttpCarrier implements Carrier {
  readonly most: number;

  constructor(
    private readonly to: AuditReceiver & { type: 'http' },
    private readonly reach: Reach | undefined,
  ) {
    this.most = to.batchLines;
  }

  async send(lines: readonly string[]): Promise<void> {
    const { uri, headers, timeoutMs, caCert } = this.to;
    const bytes = {
      type: lines.length === 1 ? 'application/json' : 'application/x-ndjson',
      content: Buffer.from(lines.join('')),
    };
    const request = { method: 'POST', headers, bytes, ca: caCert, reach: this.reach } as const;
    const { status } = await outsideCall('the receiver', uri, request, timeoutMs);
    if (status >= 200 && status < 300) return;
    if (lineStatuses.has(status)) throw new LineRefused(`the receiver answered ${status}`);
    throw new Error(`the receiver answered ${status}`);
  }

  close(): void {}
}
