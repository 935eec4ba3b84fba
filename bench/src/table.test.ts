import { describe, expect, it } from '@jest/globals';
import { median, medianFigures, quantile } from './figures';
import { type Baselines, measure } from './measure';
import { parseOptions } from './options';
import type { Scenario } from './scenario';
import { table } from './table';
import { script } from './wrk-script';

const figures = (requestsPerSecond: number) => ({ requestsPerSecond, requests: 1, p50Ms: 1, p99Ms: 2 });

describe('figures', () => {
  it('have a median that one bad round does not move', () => {
    expect(median([10, 11, 1, 12, 1000])).toBe(11);
    expect(median([1, 2])).toBe(1.5);
    expect(medianFigures([figures(5), figures(7), figures(100)]).requestsPerSecond).toBe(7);
  });

  it('have quantiles', () => {
    const sorted = Array.from({ length: 100 }, (_, i) => i);
    expect([quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted, 1)]).toEqual([50, 99, 99]);
  });
});

describe('measure', () => {
  it('measures the baselines with each run and shows the ratio of each round', async () => {
    // Each round the machine is ten times slower; the ratio stays the same.
    let speed = 10_000;
    const baselines: Baselines = {
      bare: async (_connections, _seconds, bytes) => (bytes === undefined ? 100 : 50) * speed,
      ceiling: async () => 20 * speed,
    };
    const one: Scenario = {
      name: 'one',
      ceiling: 'upsert',
      async run() {
        const now = figures(10 * speed);
        speed /= 10;
        return now;
      },
    };
    const rows = await measure([one], baselines, { ...parseOptions([]), rounds: 3, connections: [4] }, () => undefined);
    expect(rows[0]!.rounds).toHaveLength(3);
    // The ceiling is measured after the run, when the machine is ten times slower already.
    expect(table(rows).split('\n').at(-1)).toMatch(
      /^\| one +\| +4 \| +1,000 \| +1\.00 \| +2\.00 \| +0\.100 \| +5\.000 \|$/,
    );
  });
});

describe('parseOptions', () => {
  it('accepts known options', () => {
    expect(parseOptions(['--quick', '--only', 'cubby', '--only', 'show', '--connections', '8,64'])).toMatchObject({
      rounds: 1,
      only: ['cubby', 'show'],
      connections: [8, 64],
      write: false,
    });
  });

  it.each([[['--fast']], [['--rounds']], [['--rounds', '0']], [['--connections', '1,x']]])('refuses %j', (args) => {
    expect(() => parseOptions(args)).toThrow(args[0]);
  });
});

describe('the script for wrk', () => {
  it('numbers requests only at the placeholder, and escapes strings for Lua', () => {
    const fixed = script({ method: 'GET', paths: ['/a'] }, 7);
    expect(fixed).toContain("wrk.format('GET', paths[i], headers, body)");
    expect(fixed).not.toContain('gsub');
    const numbered = script({ method: 'POST', paths: ['/a'], body: `{"it's":"{n}\\n"}` }, 7);
    expect(numbered).toContain('gsub');
    expect(numbered).toContain('\'{"it\\\'s":"{n}\\\\n"}\'');
    expect(numbered).toContain('local n, at, made = 7, #paths - 1, {}');
  });
});
