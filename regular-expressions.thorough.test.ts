import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { filesBelow } from './docs/internals/architecture/sources';

// The matched text may be as long as a body. A pattern that starts again at every character of a run, or that can
// divide a run in many ways, takes quadratic time or more: megabytes would take hours. So every pattern in the sources
// is tried on long runs of the characters it matches. Processor time distinguishes quadratic time (seconds) from linear
// time (microseconds) on any machine; see the last test.
const length = 40_000;
const mostMs = 400;

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

function patternsOf(file: string): Pattern[] {
  const found: Pattern[] = [];
  const text = readFileSync(join(__dirname, file), 'utf8');
  // A pattern can begin only after one of these characters; parsing a file into a tree would take long.
  if (!/[\s(,=:[!&|?{};+\-%<>~^]\/(?![/*])/.test(text)) return found;
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    else if (typeof node === 'object' && node !== null) {
      const { type, pattern, flags } = node as Record<string, unknown>;
      if (type === 'RegExpLiteral') found.push({ file, source: String(pattern), flags: String(flags ?? '') });
      Object.values(node).forEach(visit);
    }
  };
  visit(parseSync(text, { syntax: 'typescript', target: 'es2022' }));
  return found;
}

const usual = [...'a0 \n_A-./,=+*"\'\\({[;:@%#~|<é'];

/** Long runs of text that a pattern matches, between characters that it does not expect. */
function* runsFor(source: string): Generator<string> {
  const own = [...new Set(source.replace(/\\[a-zA-Z]/g, '').replace(/\\/g, ''))];
  for (const one of new Set([...own, ...usual])) {
    yield `${one.repeat(length)}\u0001`;
    yield `x${one.repeat(length)}x\u0001`;
  }
  const few = [...own.filter((one) => /[^()[\]?^$|{}]/.test(one)).slice(0, 7), 'a', '0', ' '];
  for (const one of few) for (const other of few) yield `${(one + other).repeat(length / 2)}\u0001`;
}

/** Within one call, because each call that may time out costs a thread. */
const tryRuns = new Script(`
  for (;;) {
    if (run === undefined) run = runs.shift();
    if (run === undefined) break;
    pattern.lastIndex = 0;
    begin();
    if (pattern.global) run.replace(pattern, '');
    else pattern.exec(run);
    if (isDear()) break;
    run = undefined;
  }
`);

function costliest({ source, flags }: Pattern): { ms: number; run: string } {
  let worst = { ms: 0, run: '' };
  let before = process.cpuUsage();
  const isDear = () => {
    const ms = process.cpuUsage(before).user / 1000;
    if (ms > worst.ms) worst = { ms, run: tried.run?.slice(0, 6) ?? '' };
    return ms > mostMs;
  };
  const tried = createContext({
    pattern: new RegExp(source, flags),
    runs: [...runsFor(source)],
    run: undefined as string | undefined,
    begin: () => {
      before = process.cpuUsage();
    },
    isDear,
  });
  // With worse than quadratic growth the search would never return. If a busy machine was the reason, it continues with
  // the same run.
  while (isTimeout(() => tryRuns.runInContext(tried, { timeout: 2000 })) && !isDear());
  return worst;
}

function isTimeout(run: () => unknown): boolean {
  try {
    run();
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return true;
  }
}

describe('regular expressions', () => {
  const files = filesBelow(__dirname).filter(
    (file) =>
      /^(apps\/(secrets|workspaces)\/(?!test\/)|packages\/(?!testing\/))/.test(file) && !/stand-in|\.test\./.test(file),
  );
  const patterns = new Map<string, Pattern>();
  for (const one of files.flatMap(patternsOf)) {
    const same = `${one.source}/${one.flags}`;
    const others = patterns.get(same)?.file;
    patterns.set(same, others === undefined ? one : { ...one, file: `${others}, ${one.file}` });
  }

  it('are found', () => {
    expect(patterns.size).toBeGreaterThan(100);
  });

  it('take only a few steps for each character', () => {
    const slow = [...patterns.values()].flatMap((pattern) => {
      const { ms, run } = costliest(pattern);
      return ms > mostMs
        ? [`/${pattern.source}/ in ${pattern.file}: ${Math.round(ms)} ms for ${JSON.stringify(run)}…`]
        : [];
    });
    expect(slow).toEqual([]);
  });

  it.each([
    ['\\/+$', ''],
    ['^\\d+\\.?\\d*x', ''],
    ['\\s*\\n\\s*b', ''],
    ['^\\/*|\\/+$', 'g'],
  ])('are reported if they are like %s with flags %j', (source, flags) => {
    expect(costliest({ file: '', source, flags }).ms).toBeGreaterThan(mostMs);
  });
});
