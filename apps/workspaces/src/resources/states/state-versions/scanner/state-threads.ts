import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startThread } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../../kernel/database/database';
import type { Digest } from './state-reader';
import type { Answered, Asked } from './state-thread';

/** The thread that reads states; started for the first large one, and restarted if it has ended. */
export class StateThreads {
  private running: StateThread | undefined;

  /** One thread is enough: it reads states faster than the main thread can receive them from the network. */
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
  readonly stateThreads: StateThreads;
}

/** A database whose large states are read by a separate thread. */
export function withStateThreads<D extends Database>(db: D, stateThreads: StateThreads): D {
  const transaction: Database['transaction'] = (run) => db.transaction((tx) => run(withStateThreads(tx, stateThreads)));
  return { ...db, transaction, inTurn: (name) => withStateThreads(db.inTurn(name), stateThreads), stateThreads };
}

/** Undefined in a process that serves no other requests, such as a worker. */
export function stateThreadsOf(db: Database): StateThreads | undefined {
  return (db as Partial<WithThreads>).stateThreads;
}

interface Waiting {
  answered(digest: Digest | undefined): void;
  failed(error: Error): void;
}

/** A thread that reads many states at once, run by run. It does not keep the process alive. */
export class StateThread {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting[]>();
  private states = 0;
  private ended: Error | undefined;

  constructor(private readonly onEnd: () => void) {
    this.worker = startThread(path.join(__dirname, 'state-thread'));
    this.worker.on('message', ({ state, digest }: Answered) => this.waiting.get(state)?.shift()?.answered(digest));
    this.worker.on('error', (error) => this.end(error));
    this.worker.on('exit', () => this.end(new Error('it has ended')));
    // After the listeners: the first message listener would keep the process alive again.
    this.worker.unref();
  }

  /** A number for a state that is about to be read. */
  begin(): number {
    const state = this.states++;
    this.waiting.set(state, []);
    return state;
  }

  /** Resolves when the run has been read: until then it must not be changed. */
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

  private ask(state: number, asked: Asked): Promise<Digest | undefined> {
    return new Promise((answered, failed) => {
      if (this.ended) {
        failed(this.ended);
        return;
      }
      this.waiting.get(state)!.push({ answered, failed });
      this.worker.postMessage(asked);
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
