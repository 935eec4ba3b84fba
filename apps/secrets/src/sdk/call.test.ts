import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { callWith } from './call';

const src = path.resolve(__dirname, '..');

describe('calls', () => {
  it('are never copied by spreading, which would lose what they create only when it is used', () => {
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts') && !/\.test\.ts$|^generated/.test(file));
    expect(sources.length).toBeGreaterThan(300);
    expect(sources.filter((file) => /\.\.\.call\b(?!\.)/.test(readFileSync(path.join(src, file), 'utf8')))).toEqual([]);
  });

  it('get the warnings of their copies', () => {
    class Warned {
      messages: string[] | undefined;
      readonly input: { a: number } = { a: 1 };
      get warn() {
        return (message: string) => {
          this.messages ??= [];
          this.messages.push(message);
        };
      }
    }
    const call = new Warned();
    const copy = callWith(call, { input: { a: 2 } });
    const { warn } = copy;
    warn('a warning');
    expect([copy.input, call.input, call.messages]).toEqual([{ a: 2 }, { a: 1 }, ['a warning']]);
  });
});
