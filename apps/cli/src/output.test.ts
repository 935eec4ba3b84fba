import { describe, expect, it } from '@jest/globals';
import { Output } from './output';

const hostile = '\u001b[31mred\u001b[0m \u001b]0;title\u0007\u001b[2J\u009b5A over\rwritten\r\n\tnext\n';

function piece(terminal: boolean, env: NodeJS.ProcessEnv = {}): string {
  let printed = '';
  const out = (text: string) => {
    printed += text;
  };
  new Output({ out, err: () => {}, terminal: { out: terminal, err: terminal }, env }, 'table', String).piece(hostile);
  return printed;
}

describe('streamed output', () => {
  const harmless = ' \\x1b]0;title\\x07\\x1b[2J\\x9b5A over\\x0dwritten\n\tnext\n';

  it('contains no terminal commands except colours', () => {
    expect(piece(true)).toBe(`\u001b[31mred\u001b[0m${harmless}`);
    expect(piece(true, { NO_COLOR: '1' })).toBe(`red${harmless}`);
  });

  it('loses its colours, and nothing else, if its reader is not a terminal', () => {
    expect(piece(false)).toBe(hostile.replace('\u001b[31mred\u001b[0m', 'red'));
  });
});
