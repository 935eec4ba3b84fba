import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { differenceOf, stepsOf } from './document';
import { runDocument } from './run-document';

const cwd = mkdtempSync(join(tmpdir(), 'keystead-guide-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function page(...lines: string[]): string {
  const path = join(cwd, 'page.md');
  writeFileSync(path, lines.join('\n'));
  return path;
}

const sh = (command: string) => ['```sh', command, '```'];

describe('a guide', () => {
  it('consists of its shell blocks, each with the output shown below it', () => {
    const path = page(
      '# One',
      ...sh('echo hello'),
      '',
      '```text',
      'hello',
      '```',
      '```hcl',
      'not run',
      '```',
      ...sh('true'),
    );
    expect(stepsOf(path)).toEqual([
      { line: 2, section: 'One', command: 'echo hello', shows: 'hello' },
      { line: 12, section: 'One', command: 'true' },
    ]);
  });

  it('runs as one session, which keeps variables', async () => {
    const path = page(...sh('A=1; B=$(echo two)'), ...sh('echo "$A $B"'), '```text', '1 two', '```');
    await expect(runDocument(path, { cwd })).resolves.toBe(2);
  });

  it('fails at the line whose command fails, even in the middle of a block', async () => {
    const path = page(...sh('echo fine'), ...sh('false\necho later'));
    await expect(runDocument(path, { cwd })).rejects.toThrow('page.md:4');
  });

  it('fails if a command in a pipe fails', async () => {
    await expect(runDocument(page(...sh('false | cat')), { cwd })).rejects.toThrow('ended with 1');
  });

  it('fails if the output differs from the page', async () => {
    const path = page(...sh('echo goodbye'), '```text', 'hello', '```');
    await expect(runDocument(path, { cwd })).rejects.toThrow('instead of');
  });

  it('fails if a command does not end', async () => {
    await expect(runDocument(page(...sh('sleep 60')), { cwd, secondsPerStep: 0.2 })).rejects.toThrow('still running');
  });

  it('may define functions over many lines', async () => {
    const path = page(...sh('f() { cat <<END\nsaid $1\nEND\n}'), ...sh('f x'), '```text', 'said x', '```');
    await expect(runDocument(path, { cwd })).resolves.toBe(2);
  });
});

describe('shown output', () => {
  it.each([
    ['{"a":1}', '{"a":1,"b":2}', undefined],
    ['{"a":"hvs.…"}', '{"a":"hvs.abc"}', undefined],
    ['{"a":"…"}', '{"a":7}', undefined],
    ['{"a":[1]}', '{"a":[2]}', 'a[0] is 2, not 1'],
    ['{"a":{"b":null}}', '{"a":{}}', 'a has no b'],
    ['{"a":[1,2]}', '{"a":[1]}', 'a has 1 items, not 2'],
    ['HTTP/1.1 204 …', 'HTTP/1.1 204 No Content', undefined],
    ['first\n…\nlast', 'first\n1\n2\nlast', undefined],
    ['{} … 404', '{} 1234 404', undefined],
    ['{"a":1}', '{"b":2}\n{"a":1}', undefined],
    ['{"a":1}', '{"a":1}\n{"a":2}', 'a is 2, not 1'],
    ['{"…":{"a":1}}', '{"x":{"a":2},"y":{"a":1}}', undefined],
    ['{"…":{"a":1}}', '{"x":{"a":2}}', '….a is 2, not 1'],
    ['{"…":{"a":1}}', '{}', 'the document is empty'],
    ['{"a":1}', '[\n{"a":1}\n]', 'the document has no a'],
  ])('%s against %s', (shown, printed, difference) => {
    expect(differenceOf(shown, printed)).toBe(difference);
  });
});
