import { describe, expect, it } from '@jest/globals';
import { Concealer } from '../tool/run-log';

describe('concealing secrets in a log', () => {
  const shown = (texts: string[], ...pieces: string[]): string => {
    const concealer = new Concealer(texts);
    const out = pieces.map((piece) => concealer.push(Buffer.from(piece)));
    return Buffer.concat([...out, concealer.end()]).toString();
  };

  it('replaces every occurrence', () => {
    expect(shown(['s.abc'], 'token s.abc and s.abcs.abc.')).toBe('token *** and ******.');
  });

  it('replaces secrets that arrive in pieces, byte by byte', () => {
    expect(shown(['s.abcabd'], ...'x s.abcabs.abcabd y')).toBe('x s.abcab*** y');
  });

  it('shows text that only begins like a secret', () => {
    expect(shown(['s.abc'], 'the end is s.ab')).toBe('the end is s.ab');
  });

  it('changes nothing when there is nothing to conceal', () => {
    expect(shown([''], 'as', ' it is')).toBe('as it is');
  });
});
