import { describe, expect, it } from '@jest/globals';
import { Mistakes } from './mistakes';

const mistake = {
  type: 'TypeError',
  message: 'x is not a function',
  stack: 'TypeError: x is not a function\n at a.ts',
};

describe('mistakes in a log', () => {
  it.each<[string, object, number]>([
    ['a mistake', { err: mistake }, 1],
    ['a mistake behind another error', { err: { type: 'Error', cause: { type: 'Error', errors: [mistake] } } }, 1],
    ['an undefined variable', { err: { type: 'ReferenceError', message: 'x is not defined', stack: '' } }, 1],
    ['an unavailable upstream', { err: { type: 'TypeError', message: 'fetch failed', cause: { type: 'Error' } } }, 0],
    ['a bad URL of a caller', { err: { type: 'TypeError', message: 'Invalid URL', code: 'ERR_INVALID_URL' } }, 0],
    ['no error', {}, 0],
  ])('are found: %s', (_what, line, times) => {
    const lines: string[] = [];
    const mistakes = new Mistakes({ write: (text) => void lines.push(text) });
    const text = JSON.stringify({ msg: 'a job failed', ...line });
    mistakes.write(text);
    expect(mistakes.found).toHaveLength(times);
    expect(mistakes.found.every((one) => one.startsWith('a job failed: '))).toBe(true);
    expect(lines).toEqual([text]);
  });
});
