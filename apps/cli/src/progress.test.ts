import { describe, expect, it } from '@jest/globals';
import { Progress } from './progress';

function watched(
  terminal: boolean,
  total?: number,
  more: { TERM?: string; columns?: number; check?: () => void } = {},
) {
  let nowMs = 1000;
  let output = '';
  const streams = {
    out: () => {},
    err: (text: string) => {
      output += text;
    },
    terminal: { out: false, err: terminal },
    columns: () => more.columns,
    env: { TERM: more.TERM },
  };
  const progress = new Progress(streams, 'saving', 'rows', { total, now: () => nowMs, check: more.check });
  return {
    progress,
    pass: (ms: number) => {
      nowMs += ms;
    },
    output: () => output,
  };
}

describe('progress', () => {
  it('shows share, rate and time left on a terminal, and removes its line', () => {
    const { progress, pass, output } = watched(true, 1000);
    pass(2000);
    progress.at(200);
    expect(output()).toContain('saving: 20 %, 200 of 1000 rows, 100/s, 8 s left');
    progress.end();
    expect(output().endsWith('\r\u001b[K')).toBe(true);
  });

  it('is not written more often than a person can read', () => {
    const { progress, pass, output } = watched(true);
    pass(500);
    for (let done = 0; done < 1000; done += 1) progress.at(done);
    expect(output().split('\r')).toHaveLength(2);
  });

  it('prints nothing without a terminal', () => {
    const { progress, pass, output } = watched(false, 10);
    pass(500);
    progress.at(5);
    progress.end();
    expect(output()).toBe('');
  });

  it('names a new step at once, and shows no rate before one is known', () => {
    const { progress, output } = watched(true, 10);
    progress.at(0);
    progress.at(1);
    expect(output().trim().replace('\u001b[K', '')).toBe('saving: 0 of 10 rows');
  });

  it('shows no time left once the estimate was exceeded', () => {
    const { progress, pass, output } = watched(true, 10);
    pass(1000);
    progress.at(15);
    expect(output()).toMatch(/saving: 15 rows, 15\/s$/);
  });

  it('shows slow rates with one more digit', () => {
    const { progress, pass, output } = watched(true);
    pass(4000);
    progress.at(2);
    expect(output()).toMatch(/2 rows, 0.5\/s$/);
  });

  it('fits the terminal, makes room for permanent lines, and reappears', () => {
    const { progress, pass, output } = watched(true, 1000, { columns: 20 });
    pass(1000);
    progress.at(200);
    expect(output().split('\u001b[K').at(-1)).toHaveLength(19);
    progress.end();
    const before = output();
    progress.end();
    expect(output()).toBe(before);
    pass(1000);
    progress.at(300);
    expect(output().length).toBeGreaterThan(before.length);
  });

  it('is not shown on terminals that cannot remove a line', () => {
    const { progress, pass, output } = watched(true, 10, { TERM: 'dumb' });
    pass(500);
    progress.at(5);
    expect(output()).toBe('');
  });

  it('is a point at which work can be stopped, with a terminal or without', () => {
    const check = () => {
      throw new Error('stopped');
    };
    expect(() => watched(false, 10, { check }).progress.at(1)).toThrow('stopped');
  });
});
