import { PassThrough } from 'node:stream';
import { asker } from '../src/ask';
import { run } from '../src/program';

/** What one command line did. */
export interface Ran {
  code: number;
  printed: string;
  said: string;
}

/** Runs a command line in this process, with `typed` as the lines of its standard input. */
export async function keystead(args: string[], env: Record<string, string>, typed: string[] = []): Promise<Ran> {
  let printed = '';
  let said = '';
  const input = new PassThrough();
  input.end(typed.map((line) => `${line}\n`).join(''));
  const code = await run(args, {
    env,
    out: (text) => {
      printed += text;
    },
    err: (text) => {
      said += text;
    },
    ask: asker(input as unknown as NodeJS.ReadStream, () => {}),
  });
  // The program leaves its code for the shell; a test run has its own.
  process.exitCode = undefined;
  return { code, printed, said };
}
