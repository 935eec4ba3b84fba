import { PassThrough } from 'node:stream';
import { asker } from '../src/ask';
import { run } from '../src/program';

/** The result of a command line. */
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
  // The program sets the exit code of the process, which belongs to the test run.
  process.exitCode = undefined;
  return { code, printed, said };
}
