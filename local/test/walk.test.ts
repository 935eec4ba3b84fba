import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { difference, readWalk, Shell } from './walk';

const box = mkdtempSync(path.join(tmpdir(), 'keystead-walk-'));
afterAll(() => rmSync(box, { recursive: true }));

describe('a walk', () => {
  it('is read with the output below each block', () => {
    const page = path.join(box, 'page.md');
    writeFileSync(page, '# One\n```sh\na\n```\nText.\n## Two\n```sh\nb\nc\n```\n```json\n{}\n```\n');
    expect(readWalk(page)).toEqual([
      { title: 'One', commands: 'a\n' },
      { title: 'Two', commands: 'b\nc\n', expected: { kind: 'json', text: '{}\n' } },
    ]);
  });

  it('runs in one shell and stops at what fails', async () => {
    const shell = new Shell(box);
    await shell.run('NAME=value\nf() { cat <<END\nsaid $1\nEND\n}');
    expect(await shell.run('f "$NAME"')).toBe('said value');
    await expect(shell.run('f x; false')).rejects.toThrow('failed with 1');
    shell.end();
  });

  it('notices what is not as the page says', () => {
    const json = (text: string) => ({ kind: 'json', text }) as const;
    expect(difference('{"a":1,"b":[{"c":"id-9"}]}', json('{"b":[{"c":"id-…"}]}'))).toBeUndefined();
    expect(difference('first\n{"a":1}', json('{"a":1}'))).toBeUndefined();
    expect(difference('{"a":1}', json('{"a":2}'))).toBe('at .a: 1, not 2');
    expect(difference('{"a":[1,2]}', json('{"a":[1]}'))).toBe('at .a: [1,2], not [1]');
    expect(difference('no json', json('{}'))).toBe('at the top: "no json", not {}');
    expect(difference('403', { kind: 'text', text: '403\n' })).toBeUndefined();
    expect(difference('{} 1234 404', { kind: 'text', text: '{}… 404\n' })).toBeUndefined();
    expect(difference('404', { kind: 'text', text: '403\n' })).toBe('printed 404, not 403\n');
  });
});
