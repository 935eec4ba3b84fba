import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { readSources } from './docs/architecture/sources';

// What is matched may be as long as a body. A pattern that starts over at every character of a run, or that can divide a
// run in many ways, takes the square of its length or more: megabytes would take hours. So every pattern in the sources is
// tried on long runs of whatever it speaks of. Processor time tells a square (seconds) from a line (microseconds)
// wherever it is measured; see the last test.
const length = 40_000;
const mostMs = 400;

interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

function patternsOf(file: string): Pattern[] {
  const found: Pattern[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    else if (typeof node === 'object' && node !== null) {
      const { type, pattern, flags } = node as Record<string, unknown>;
      if (type === 'RegExpLiteral') found.push({ file, source: String(pattern), flags: String(flags ?? '') });
      Object.values(node).forEach(visit);
    }
  };
  visit(parseSync(readFileSync(join(__dirname, file), 'utf8'), { syntax: 'typescript', target: 'es2022' }));
  return found;
}

const usual = [...'a0 \n_A-./,=+*"\'\\({[;:@%#~|<é'];

/** Long runs of what a pattern speaks of, between things it does not expect. */
function* runsFor(source: string): Generator<string> {
  const own = [...new Set(source.replace(/\\[a-zA-Z]/g, '').replace(/\\/g, ''))];
  for (const one of new Set([...own, ...usual])) {
    yield `${one.repeat(length)}\u0001`;
    yield `x${one.repeat(length)}x\u0001`;
  }
  const few = [...own.filter((one) => /[^()[\]?^$|{}]/.test(one)).slice(0, 7), 'a', '0', ' '];
  for (const one of few) for (const other of few) yield `${(one + other).repeat(length / 2)}\u0001`;
}

function costliest({ source, flags }: Pattern): { ms: number; run: string } {
  const tried = createContext({ pattern: new RegExp(source, flags), run: '' });
  let worst = { ms: 0, run: '' };
  for (const run of runsFor(source)) {
    tried.run = run;
    tried.pattern.lastIndex = 0;
    const before = process.cpuUsage();
    // What is worse than a square would never come back.
    if (isTimeout(() => runInContext('pattern.exec(run)', tried, { timeout: 10_000 }))) {
      return { ms: 10_000, run: run.slice(0, 6) };
    }
    const { user } = process.cpuUsage(before);
    if (user / 1000 > worst.ms) worst = { ms: user / 1000, run: run.slice(0, 6) };
    if (worst.ms > mostMs) break;
  }
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
  const files = readSources(__dirname)
    .filter(({ file, test }) => !test && /^(apps\/(secrets|workspaces)|packages)\//.test(file))
    .map(({ file }) => file)
    .filter((file) => !/stand-in|packages\/testing/.test(file));
  const patterns = [...new Map(files.flatMap(patternsOf).map((one) => [`${one.source}/${one.flags}`, one])).values()];

  it('are found', () => {
    expect(patterns.length).toBeGreaterThan(100);
  });

  it('take no more than a few steps for every character', () => {
    const slow = patterns.flatMap((pattern) => {
      const { ms, run } = costliest(pattern);
      return ms > mostMs
        ? [`/${pattern.source}/ in ${pattern.file}: ${Math.round(ms)} ms for ${JSON.stringify(run)}…`]
        : [];
    });
    expect(slow).toEqual([]);
  });

  it.each(['\\/+$', '^\\d+\\.?\\d*x', '\\s*\\n\\s*b'])('would be noticed if they were like %s', (source) => {
    expect(costliest({ file: '', source, flags: '' }).ms).toBeGreaterThan(mostMs);
  });
});
