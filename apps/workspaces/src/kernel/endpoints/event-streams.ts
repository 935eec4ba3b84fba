import { Readable } from 'node:stream';
import { Refusal } from '@keystead/refusal';
import type { Principal } from '../access/principal';

/** The maximum number of bytes that are buffered for a client that does not read. */
const mostBuffered = 512 * 1024;
const perCaller = 24;
const perNode = 2_000;

/** Server-sent events to one client, until the client disconnects. */
export class EventStream extends Readable {
  private readonly timers: NodeJS.Timeout[] = [];
  private isFinished = false;
  /** Called when the client has received everything so far. */
  onDemand: () => void = () => {};

  constructor(readonly onLeave: () => void) {
    super({ highWaterMark: mostBuffered });
    this.once('close', () => {
      for (const timer of this.timers) clearInterval(timer);
      onLeave();
    });
    this.push('retry: 2000\n\n');
  }

  override _read(): void {
    this.onDemand();
  }

  /** True while no more events should be sent. */
  get isFull(): boolean {
    return this.readableLength >= mostBuffered;
  }

  /** Sends one event; a client that reconnects sends `id` as `Last-Event-ID`. */
  send(event: string, data: unknown, id?: string): void {
    this.say(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
  }

  /** Sends a comment to keep the connection open. */
  beat(): void {
    this.say(': still here\n\n');
  }

  /** Ends the stream. Later events are not sent. */
  finish(): void {
    this.say(null);
    this.isFinished = true;
  }

  private say(text: string | null): void {
    if (!this.destroyed && !this.isFinished) this.push(text);
  }

  /** Calls `run` periodically while the stream is open. */
  repeat(ms: number, run: () => void): void {
    const timer = setInterval(run, ms);
    timer.unref();
    this.timers.push(timer);
  }
}

/** The open streams of this node: limits their number, and ends them when the node stops. */
export class EventStreams {
  private readonly open = new Set<EventStream>();
  private readonly counts = new Map<string, number>();

  /** Opens a stream for a caller. Throws `limited` if the caller or this node has too many streams. */
  begin({ kind, id }: Pick<Principal, 'kind' | 'id'>): EventStream {
    const caller = `${kind} ${id}`;
    const count = this.counts.get(caller) ?? 0;
    if (count >= perCaller) throw new Refusal('limited', `${perCaller} streams are open already; close one`);
    if (this.open.size >= perNode) throw new Refusal('unavailable', 'too many streams are open on this node');
    this.counts.set(caller, count + 1);
    const stream: EventStream = new EventStream(() => {
      this.open.delete(stream);
      const remaining = this.counts.get(caller)! - 1;
      if (remaining === 0) this.counts.delete(caller);
      else this.counts.set(caller, remaining);
    });
    this.open.add(stream);
    return stream;
  }

  /** Ends all streams. The clients reconnect to another node. */
  endAll(): void {
    for (const stream of this.open) stream.finish();
  }
}
