import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { differenceOf, type Step, stepsOf } from './document';

/** The folder and the environment of a guide's commands. */
export interface RunOptions {
  /** Folder of the shell; the guides expect `data/first-run.json` below it. */
  cwd: string;
  env?: NodeJS.ProcessEnv;
  secondsPerStep?: number;
}

const END = '__keystead_step_end__';

/**
 * Runs the commands of a Markdown page as one shell session, so that variables set in one block keep their values in
 * the next.
 *
 * A block fails when any of its commands does (`set -e`, `pipefail`) or when its output differs from the page. Throws
 * on the first failing block, naming page and line. Returns the number of blocks run.
 */
export async function runDocument(path: string, options: RunOptions): Promise<number> {
  const steps = stepsOf(path);
  const session = openSession(path, options);
  try {
    for (const step of steps) await session.run(step);
  } finally {
    session.close();
  }
  return steps.length;
}

/** A shell session that runs the steps of a page one by one; each throws when it fails, naming page and line. */
export function openSession(path: string, options: RunOptions): { run(step: Step): Promise<void>; close(): void } {
  const shell = openShell(options);
  return {
    async run(step) {
      const { printed, complained, status } = await shell.run(step.command, options.secondsPerStep ?? 240);
      const place = `${basename(path)}:${step.line} (${step.section})`;
      if (status !== 0) throw new Error(`${place} ended with ${status}:\n${step.command}\n${printed}\n${complained}`);
      const difference = step.shows === undefined ? undefined : differenceOf(step.shows, printed);
      if (difference) throw new Error(`${place}: ${difference}\n${step.command}\n${complained}`);
    },
    close: () => shell.close(),
  };
}

function openShell(options: RunOptions) {
  const child = spawn('bash', ['--noprofile', '--norc'], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    // A separate process group, so that processes that a block left running end with the session.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  let complained = '';
  let wake = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complained += text;
  });
  child.on('exit', () => wake());
  // After a block that ends the session the rest cannot be written; the exit status says what happened.
  child.stdin.on('error', () => wake());
  return {
    async run(command: string, seconds: number): Promise<{ printed: string; complained: string; status: number }> {
      printed = '';
      complained = '';
      const deadline = Date.now() + seconds * 1000;
      // The block runs in the session itself, so its variables stay; the trap reports a failure and ends the session.
      child.stdin.write(`trap 'printf "\\n${END} %s\\n" "$?"' EXIT; set -eo pipefail\n${command}\n`);
      child.stdin.write(`set +e; trap - EXIT; printf '\\n${END} 0\\n'\n`);
      const end = new RegExp(`\\n${END} (\\d+)\\n`);
      for (;;) {
        const match = end.exec(printed);
        if (match) return { printed: printed.slice(0, match.index), complained, status: Number(match[1]) };
        if (child.exitCode !== null) return { printed, complained, status: child.exitCode };
        const left = deadline - Date.now();
        if (left <= 0) return { printed, complained: `${complained}\nstill running after ${seconds} s`, status: 124 };
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    close(): void {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group has already ended: the last command closed the session.
      }
      for (const stream of child.stdio) stream?.destroy();
    },
  };
}
