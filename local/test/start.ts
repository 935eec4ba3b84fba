import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A started local program and its output so far. */
export interface Started {
  process: ChildProcess;
  output(): string;
  /** The part of the output that was written to stderr. */
  complaints(): string;
  /** Resolves once the output matches; rejects if the program ends or five minutes pass before that. */
  says(pattern: RegExp): Promise<void>;
  /** Resolves with the exit code. */
  ended: Promise<number | null>;
}

/** Starts a program of this folder in a child process, as a terminal would. */
export function start(command: string[], env: Record<string, string>): Started {
  const child = spawn(process.execPath, command, {
    cwd: path.resolve(__dirname, '../..'),
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complained = '';
  child.stdout!.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr!.on('data', (chunk) => {
    output += chunk;
    complained += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return {
    process: child,
    output: () => output,
    complaints: () => complained,
    says: (pattern) =>
      waitFor(
        () => pattern.test(output),
        child,
        () => output,
      ),
    ended,
  };
}

/** Resolves when `done` is true; rejects if the program ends or five minutes pass before that. */
export async function waitFor(
  done: () => boolean | Promise<boolean>,
  child?: ChildProcess,
  said = () => '',
): Promise<void> {
  // The first start after a change also builds, perhaps while other tests run.
  const giveUpAt = Date.now() + 300_000;
  while (!(await done())) {
    if (child && (child.exitCode !== null || child.signalCode !== null)) throw new Error(`ended early: ${said()}`);
    if (Date.now() > giveUpAt) throw new Error(`gave up waiting: ${said()}`);
    await sleep(20);
  }
}

/** The environment of a terminal: nothing that Jest or a calling npm set. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|JEST_|NODE_|KEYSTEAD_|SECRETS_|WORKSPACES_|DATABASE_URL)/.test(name),
  );
  return Object.fromEntries(entries);
}
