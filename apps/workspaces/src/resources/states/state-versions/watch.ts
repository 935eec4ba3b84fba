import type { Database } from '../../../kernel/database/database';
import { type Digest, StateDigest } from './scanner/state-reader';
import { type StateThread, type StateThreads, stateThreadsOf } from './scanner/state-threads';

/** A state up to this size is read in this thread, because passing it to another thread would take longer. */
const shortBytes = 64 * 1024;
const runBytes = 256 * 1024;

/** Receives the pieces of a state in order. The next piece follows when the returned promise resolves. */
export type Seen = (piece: Uint8Array) => Promise<void> | undefined;

/**
 * Watches the bytes of a state during `work`: returns its MD5, its content, and the result of the work. If the database
 * has a thread for it, states longer than a few pieces are read there, so that other requests do not wait.
 */
export async function watch<T>(
  db: Database,
  work: (seen: Seen) => Promise<T>,
): Promise<Digest & { readonly result: T }> {
  const threads = stateThreadsOf(db);
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
  private held = 0;
  private reading = Promise.resolve();
  private aside: { readonly thread: StateThread; readonly state: number } | undefined;

  constructor(private readonly threads: StateThreads) {}

  take(piece: Uint8Array): Promise<void> | undefined {
    if (this.held + piece.length > runBytes) return this.takeMore(piece);
    this.run().set(piece, this.held);
    this.held += piece.length;
    return undefined;
  }

  async end(): Promise<Digest> {
    const { held } = this;
    if (!this.aside && held <= shortBytes) {
      const digest = new StateDigest();
      digest.write(this.run().subarray(0, held));
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
      if (this.held === runBytes) await this.read();
      const part = piece.subarray(from, from + runBytes - this.held);
      this.run().set(part, this.held);
      this.held += part.length;
      from += part.length;
    }
  }

  /** Passes on the current run, once the previous one has been read. */
  private async read(): Promise<void> {
    const run = this.run().subarray(0, this.held);
    this.turn = this.turn === 0 ? 1 : 0;
    this.held = 0;
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
