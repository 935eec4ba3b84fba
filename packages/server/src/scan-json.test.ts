import { describe, expect, it } from '@jest/globals';
import { type JsonTooMuch, scanJson, scanJsonAtOnce } from './scan-json';

const limits = { values: 10, levels: 4 };
const scanned = async (text: string) =>
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
  ])('%j gives the result %s', async (text, found) => {
    expect(await scanned(text)).toBe(found);
  });

  it('finds the same in a string of many slices, wherever it is cut, and yields between slices', async () => {
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

  /** Counts character by character, outside strings. */
  function counted(text: string): { values: number; levels: number; numbers: boolean } {
    const outside = text.replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/g, '');
    let depth = 0;
    let levels = 0;
    for (const c of outside) {
      if (c === '{' || c === '[') levels = Math.max(levels, ++depth);
      else if (c === '}' || c === ']') depth--;
    }
    return { values: 1 + (outside.match(/[,{[]/g) ?? []).length, levels, numbers: /[-./0-9]/.test(outside) };
  }

  it('counts the same as a slower parser, in strings of every length and with any escapes', () => {
    let seed = 7;
    const random = (most: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % most;
    };
    const pieces = [
      '"',
      '"',
      '\\',
      '\\\\',
      '\\"',
      ',',
      '[',
      '{',
      ']',
      '7',
      'x'.repeat(31),
      'y'.repeat(33),
      'z',
      ' ',
      'é',
    ];
    for (let round = 0; round < 3000; round++) {
      const text = Array.from({ length: 1 + random(40) }, () => pieces[random(pieces.length)]).join('');
      const bytes = Buffer.from(text);
      const { values, levels, numbers } = counted(text);
      expect([text, scanJsonAtOnce(bytes, { values, levels })]).toEqual([text, numbers]);
      if (values > 1) expect(() => scanJsonAtOnce(bytes, { values: values - 1, levels })).toThrow('values');
      if (levels > 0) expect(() => scanJsonAtOnce(bytes, { values, levels: levels - 1 })).toThrow('levels');
    }
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
