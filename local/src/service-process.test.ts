import { describe, expect, it } from '@jest/globals';
import { lastWords } from './service-process';

describe('the last log lines of a service', () => {
  it.each([
    [
      'plain lines after the log',
      '{"msg":"listening"}\nA is not set\nB is not a known setting\n',
      'A is not set; B is not a known setting',
    ],
    [
      'the error of a crash',
      'node:internal\n  throw err;\n\nTypeError: x is not a function\n    at y\n\nNode.js v20\n',
      'TypeError: x is not a function',
    ],
    ['the last log line', '{"msg":"a"}\n{"msg":"cannot open","err":{"message":"no file"}}\n', 'cannot open: no file'],
    ['a broken line', '{"msg":', '{"msg":'],
  ])('are %s', (_, log, expected) => {
    expect(lastWords(log)).toBe(expected);
  });

  it('may be missing', () => {
    expect(lastWords('\n')).toBeUndefined();
  });
});
