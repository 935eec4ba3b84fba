import { fork } from 'node:child_process';
import { fromSource } from './from-source';

/** A process that can be killed at a fault point, or at any time. */
export interface Victim {
  readonly url: string;
  readonly pid: number;
  /** Resolves when the process has ended for any reason. */
  readonly ended: Promise<void>;
  /** The process passes this fault point the given number of times, and kills itself the next time it reaches it. */
  dieAt(name: string, passes?: number): Promise<void>;
  /** Starts to record the fault points that the process passes; returns those recorded before. */
  record(on: boolean): Promise<readonly string[]>;
  /** Sends an order that is specific to the program; rejects if the process ends first. */
  order<T>(order: object): Promise<T>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** How a process is started. */
interface VictimOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly flags?: readonly string[];
  /** A descriptor that its log is written to. */
  readonly log?: number | 'ignore';
}

/** Starts a program that uses `faultPoints`, and that sends its `url` when it is ready. */
export async function startVictim(
  program: string,
  { env, flags = [], log = 'ignore' }: VictimOptions,
): Promise<Victim> {
  const child = fork(program, [], {
    execArgv: [...fromSource, ...flags],
    stdio: ['ignore', log, 'pipe', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  let output = '';
  child.stderr!.on('data', (chunk) => {
    output = (output + chunk).slice(-4000);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const unlessEnded = <T>(answer: Promise<T>): Promise<T> =>
    Promise.race([
      answer,
      ended.then(() => {
        throw new Error(`the process ended: ${output}`);
      }),
    ]);
  let ids = 0;
  const waiting = new Map<number, (answer: unknown) => void>();
  const listening = new Promise<string>((resolve) => {
    child.on('message', (message: { url: string } | { id: number; answer?: unknown }) => {
      if ('url' in message) resolve(message.url);
      else waiting.get(message.id)?.(message.answer);
    });
  });
  const order = <T>(what: object): Promise<T> => {
    const id = ++ids;
    const answer = new Promise<T>((resolve) => waiting.set(id, resolve as (answer: unknown) => void));
    if (child.connected) child.send({ id, order: what }, () => undefined);
    return unlessEnded(answer).finally(() => waiting.delete(id));
  };
  const signal = async (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name);
    await ended;
  };
  return {
    url: await unlessEnded(listening),
    pid: child.pid!,
    ended,
    dieAt: (dieAt, passes) => order({ dieAt, passes }),
    record: (record) => order({ record }),
    order,
    kill: () => signal('SIGKILL'),
    stop: () => signal('SIGTERM'),
  };
}
