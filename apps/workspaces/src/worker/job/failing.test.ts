import { describe, expect, it } from '@jest/globals';
import { Failing } from './retry';

describe('a repeated failure', () => {
  it('is logged completely once, then less and less often, and once when it ends', () => {
    const lines: { text: string; whole: boolean }[] = [];
    const add = (about: object, text?: string) => void lines.push({ text: text ?? '', whole: 'err' in about });
    let nowMs = 5;
    const log = { warn: add, info: add } as unknown as ConstructorParameters<typeof Failing>[0];
    const failing = new Failing(log, 'no job could be taken', () => nowMs);
    failing.worked();
    expect(lines).toEqual([]);
    for (; nowMs < 3_600_000; nowMs += 250) failing.failed(new Error('away'));
    expect(lines.filter(({ whole }) => whole)).toHaveLength(1);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.length).toBeLessThan(16);
    failing.worked();
    failing.worked();
    expect(lines.at(-1)?.text).toBe('works again, after: no job could be taken');
    const before = lines.length;
    failing.failed(new Error('away'));
    expect(lines.slice(before)).toEqual([{ text: 'no job could be taken', whole: true }]);
  });
});
