import { describe, expect, it } from '@jest/globals';
import { type JsonTooMuch, scanJson } from './scan-json';

const limits = { values: 10, levels: 4 };
const scanned = (text: string) =>
  scanJson(Buffer.from(text), limits).then(
    () => 'fine',
    (error: JsonTooMuch) => error.bound,
  );

describe('scanning JSON', () => {
  it.each([
    ['', 'fine'],
    ['1', 'fine'],
    ['[1,2,3,4,5,6,7,8,9]', 'fine'],
    ['[1,2,3,4,5,6,7,8,9,10,11]', 'values'],
    ['[{},{},{},{},{},{}]', 'values'],
    [`{${Array.from({ length: 12 }, (_, n) => `"${n}":1`).join(',')}}`, 'values'],
    ['[[[[]]]]', 'fine'],
    ['[[[[[', 'levels'],
    ['{"a":{"a":{"a":{"a":{}}}}}', 'levels'],
    ['["[[[[[[[[[[[[[[,,,,,,,,,,,,,,,,,,,,,"]', 'fine'],
    ['["\\"[[[[[[[[[[[[[[,,,,,,,,,,,,,,,,,,,,,\\\\"]', 'fine'],
    ['["\\\\",1,2,3,4,5,6,7,8,9,10]', 'values'],
    ['[1,1,1,1,1,1,1,[]]', 'fine'],
    ['[1,1,1,1,1,1,1,1,[]]', 'values'],
  ])('%s', async (text, found) => {
    expect(await scanned(text)).toBe(found);
  });

  it('finds the same in a text of many slices, wherever they are cut, and yields between them', async () => {
    const long = `["${'x'.repeat(2 * 1024 * 1024 - 3)}\\"[[[[[[${'y'.repeat(5 * 1024 * 1024)}"]`;
    let turns = 0;
    let counting = true;
    const count = () => {
      turns++;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    expect(await scanned(long)).toBe('fine');
    counting = false;
    expect(turns).toBeGreaterThanOrEqual(3);
    expect(await scanned(`${long.slice(0, -1)},1,1,1,1,1,1,1,1]`)).toBe('fine');
    expect(await scanned(`${long.slice(0, -1)},1,1,1,1,1,1,1,1,1]`)).toBe('values');
  });

  it('decides about a short text at once', async () => {
    let yielded = false;
    setImmediate(() => (yielded = true));
    await scanned('[1]');
    expect(yielded).toBe(false);
  });

  it('reports which limit is exceeded', async () => {
    await expect(scanJson(Buffer.from('[1,2]'), { values: 2, levels: 1 })).rejects.toThrow(
      'it contains more than 2 values',
    );
    await expect(scanJson(Buffer.from('[[]]'), { values: 9, levels: 1 })).rejects.toThrow(
      'it is nested deeper than 1 levels',
    );
  });
});
