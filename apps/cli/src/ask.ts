import { createInterface, type Interface } from 'node:readline';
import { Problem } from './problem';

/** Prompts the user without echoing the input. From a pipe, it reads one answer per line. */
export interface Ask {
  (question: string): Promise<string>;
  /** All of standard input, unchanged. */
  all(): Promise<string>;
  bytes(): Promise<Buffer>;
  close(): void;
}

/** Reads answers from standard input. Prompts go to standard error, so that results can be piped. */
export function asker(input: NodeJS.ReadStream, err: (text: string) => void): Ask {
  let lines: { reader: Interface; next: AsyncIterator<string> } | undefined;
  const fromPipe = async (): Promise<string | undefined> => {
    if (!lines) {
      const reader = createInterface({ input });
      lines = { reader, next: reader[Symbol.asyncIterator]() };
    }
    const { value, done } = await lines.next.next();
    return done ? undefined : value;
  };
  const ask = async (question: string) => {
    const answer = input.isTTY ? await hidden(input, err, question) : await fromPipe();
    if (answer === undefined) throw new Problem(`${question}: standard input ended before an answer`);
    return answer.trim();
  };
  const bytes = async (): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of input) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  };
  return Object.assign(ask, { all: async () => (await bytes()).toString(), bytes, close: () => lines?.reader.close() });
}

function hidden(input: NodeJS.ReadStream, err: (text: string) => void, question: string): Promise<string> {
  err(`${question}: `);
  input.setRawMode(true);
  input.setEncoding('utf8');
  input.resume();
  return new Promise((resolve, reject) => {
    let typed = '';
    const end = (finish: () => void) => {
      input.off('data', read);
      input.setRawMode(false);
      input.pause();
      err('\n');
      finish();
    };
    const read = (text: string) => {
      for (const key of text) {
        if (key === '\r' || key === '\n') return end(() => resolve(typed));
        if (key === '\u0003' || key === '\u0004') return end(() => reject(new Problem('stopped')));
        typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key;
      }
    };
    input.on('data', read);
  });
}
