import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../../kernel/database/database';
import { type Digest, StateDigest } from './state-reader';
import type { Answered, Asked } from './state-thread';

/** A state up to this size is read in this thread, because passing it to another thread would take longer. */
const shortBytes = 64 * 1024;
const runBytes = 256 * 1024;

/** The thread that reads states. It is started for the first large state, and restarted if it has ended. */
export class StateThreads {
  private running: StateThread | undefined;

  /**
   * Returns the only thread. One is sufficient, because it reads states faster than the main thread can receive them
   * from the network.
   */
  current(): StateThread {
    this.running ??= new StateThread(() => {
      this.running = undefined;
    });
    return this.running;
  }

  async close(): Promise<void> {
    await this.running?.close();
  }
}

interface WithThreads extends Database {
  /** Absent in a process that serves no other requests, such as a worker. */
  readonly stateThreads: StateThreads;
}

/** A database whose large states are read by a separate thread. */
export function withStateThreads<D extends Database>(db: D, stateThreads: StateThreads): D {
  const transaction: Database['transaction'] = (run) => db.transaction((tx) => run(withStateThreads(tx, stateThreads)));
  return { ...db, transaction, inTurn: (name) => withStateThreads(db.inTurn(name), stateThreads), stateThreads };
}

/** Receives the pieces of a state in order. It gets the next piece when the returned promise resolves. */
type Seen = (piece: Uint8Array) => Promise<void> | undefined;

/**
 * Watches the bytes of a state during `work`: returns its MD5, its content (undefined if it is not a state), and the
 * result of the work. If the database has a thread for reading states, states of more than a few pieces are read there,
 * so that other requests do not wait.
 */
export async function watch<T>(
  db: Database,
  work: (seen: Seen) => Promise<T>,
): Promise<Digest & { readonly result: T }> {
  const threads = (db as Partial<WithThreads>).stateThreads;
  if (!threads) {
    const digest = new StateDigest();
    const result = await work(async (piece) => digest.write(piece));
    return { ...digest.end(), result };
  }
  const runs = new Runs(threads);
  try {
    const result = await work((piece) => runs.take(piece));
    return { ...(await runs.end()), result };
  } finally {
    runs.close();
  }
}

/** Collects pieces into runs; one run is filled while the other is read. */
class Runs {
  private readonly runs: [Uint8Array, Uint8Array?] = [shared()];
  private turn: 0 | 1 = 0;
  private runLength = 0;
  private reading = Promise.resolve();
  private aside: { readonly thread: StateThread; readonly state: number } | undefined;

  constructor(private readonly threads: StateThreads) {}

  take(piece: Uint8Array): Promise<void> | undefined {
    if (this.runLength + piece.length > runBytes) return this.takeMore(piece);
    this.run().set(piece, this.runLength);
    this.runLength += piece.length;
    return undefined;
  }

  async end(): Promise<Digest> {
    const { runLength } = this;
    if (!this.aside && runLength <= shortBytes) {
      const digest = new StateDigest();
      digest.write(this.run().subarray(0, runLength));
      return digest.end();
    }
    await this.read();
    await this.reading;
    const { thread, state } = this.aside!;
    return thread.finish(state);
  }

  close(): void {
    this.aside?.thread.forget(this.aside.state);
  }

  private run(): Uint8Array {
    this.runs[this.turn] ??= shared();
    return this.runs[this.turn]!;
  }

  private async takeMore(piece: Uint8Array): Promise<void> {
    for (let from = 0; from < piece.length; ) {
      if (this.runLength === runBytes) await this.read();
      const part = piece.subarray(from, from + runBytes - this.runLength);
      this.run().set(part, this.runLength);
      this.runLength += part.length;
      from += part.length;
    }
  }

  /** Passes on the current run, once the previous one has been read. */
  private async read(): Promise<void> {
    const run = this.run().subarray(0, this.runLength);
    this.turn = this.turn === 0 ? 1 : 0;
    this.runLength = 0;
    await this.reading;
    if (!this.aside) {
      const thread = this.threads.current();
      this.aside = { thread, state: thread.begin() };
    }
    this.reading = this.aside.thread.read(this.aside.state, run);
    this.reading.catch(() => undefined);
  }
}

/** Bytes that both threads see, so none of them is copied. */
const shared = (): Uint8Array => new Uint8Array(new SharedArrayBuffer(runBytes));

interface Waiting {
  answered(digest: Digest | undefined): void;
  failed(error: Error): void;
}

/** A thread that reads many states at the same time, run by run. It does not keep the process alive. */
class StateThread {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting[]>();
  private states = 0;
  private ended: Error | undefined;

  constructor(private readonly onEnd: () => void) {
    this.worker = startThread(path.join(__dirname, 'state-thread'));
    this.worker.on('message', ({ state, digest }: Answered) => this.waiting.get(state)?.shift()?.answered(digest));
    this.worker.on('error', (error) => this.end(error));
    this.worker.on('exit', () => this.end(new Error('it has ended')));
    // This comes after the listeners, because adding the first message listener keeps the process alive again.
    this.worker.unref();
  }

  /** A number for a state that is about to be read. */
  begin(): number {
    const state = this.states++;
    this.waiting.set(state, []);
    return state;
  }

  /** Resolves when the run has been read. Until then, the run must not be changed. */
  async read(state: number, run: Uint8Array): Promise<void> {
    await this.ask(state, { state, run });
  }

  /** The content of a state that was read completely. */
  async finish(state: number): Promise<Digest> {
    return (await this.ask(state, { state, now: 'end' }))!;
  }

  forget(state: number): void {
    this.waiting.delete(state);
    if (!this.ended) this.worker.postMessage({ state, now: 'forget' } satisfies Asked);
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private ask(state: number, request: Asked): Promise<Digest | undefined> {
    return new Promise((answered, failed) => {
      if (this.ended) {
        failed(this.ended);
        return;
      }
      this.waiting.get(state)!.push({ answered, failed });
      this.worker.postMessage(request);
    });
  }

  private end(cause: Error): void {
    if (this.ended) return;
    this.ended = new Refusal('unavailable', 'the state could not be read; try again', [], { cause });
    this.onEnd();
    for (const list of this.waiting.values()) for (const { failed } of list) failed(this.ended);
    this.waiting.clear();
  }
}
