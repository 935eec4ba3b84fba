import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** One block of commands of a walk, and what stands below it. */
export interface Block {
  /** The heading it stands under. */
  title: string;
  commands: string;
  expected?: { kind: 'json' | 'text'; text: string };
}

/** Reads the blocks of commands of a Markdown page, each with the output that follows it. */
export function readWalk(file: string): Block[] {
  const blocks: Block[] = [];
  let title = '';
  const pieces = readFileSync(file, 'utf8').matchAll(/^#+ (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm);
  for (const [, heading, kind, text = ''] of pieces) {
    if (heading) title = heading;
    else if (kind === 'sh') blocks.push({ title, commands: text });
    else if (kind === 'json' || kind === 'text') blocks.at(-1)!.expected = { kind, text };
  }
  return blocks;
}

/** A shell that runs block after block, as somebody would paste them into one terminal. */
export class Shell {
  private readonly process: ChildProcess;
  private said = '';
  private count = 0;

  constructor(folder: string) {
    this.process = spawn('bash', ['--norc', '--noprofile'], { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout!, this.process.stderr!]) {
      stream.on('data', (chunk) => {
        this.said += chunk;
      });
    }
  }

  /** Runs commands and answers what they printed; rejects when the last of them failed. */
  async run(commands: string): Promise<string> {
    this.said = '';
    this.count += 1;
    const mark = new RegExp(`^(.*)<<done-${this.count}:(\\d+)>>\\n$`, 's');
    this.process.stdin!.write(`${commands}\nprintf '<<done-%s:%s>>\\n' ${this.count} $?\n`);
    for (;;) {
      const found = mark.exec(this.said);
      if (found && found[2] === '0') return found[1]!.trim();
      if (found) throw new Error(`failed with ${found[2]}:\n${commands}\n${found[1]}`);
      if (this.process.exitCode !== null) throw new Error(`the shell ended: ${this.said}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  end(): void {
    this.process.stdin!.end();
  }
}

/** What in `printed` differs from what the page shows, or undefined. `…` stands for anything. */
export function difference(printed: string, expected: NonNullable<Block['expected']>): string | undefined {
  if (expected.kind === 'text') {
    return wildcard(expected.text.trim()).test(printed) ? undefined : `printed ${printed}, not ${expected.text}`;
  }
  return differs(lastJson(printed), JSON.parse(expected.text), '');
}

/** A block may print several answers; the page shows the last. */
function lastJson(printed: string): unknown {
  const lines = printed.split('\n');
  for (let from = lines.length - 1; from >= 0; from--) {
    try {
      return JSON.parse(lines.slice(from).join('\n'));
    } catch {
      // Not yet a whole answer: one line more.
    }
  }
  return printed;
}

/** Every key the page names must be there with its value; other keys may be there too. */
function differs(found: unknown, expected: unknown, at: string): string | undefined {
  if (typeof expected === 'string') {
    return typeof found === 'string' && wildcard(expected).test(found) ? undefined : said(at, found, expected);
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(found) || found.length !== expected.length) return said(at, found, expected);
    return first(expected.map((one, index) => differs(found[index], one, `${at}[${index}]`)));
  }
  if (expected !== null && typeof expected === 'object') {
    if (found === null || typeof found !== 'object') return said(at, found, expected);
    const record = found as Record<string, unknown>;
    return first(Object.entries(expected).map(([key, one]) => differs(record[key], one, `${at}.${key}`)));
  }
  return found === expected ? undefined : said(at, found, expected);
}

const first = (all: Array<string | undefined>) => all.find((one) => one !== undefined);
const said = (at: string, found: unknown, expected: unknown) =>
  `at ${at || 'the top'}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`;

function wildcard(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
