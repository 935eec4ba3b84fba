import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { namesOf } from '../../apps/cli/src/command';
import { vocabulary } from '../../apps/cli/src/commands/all';
import { parse } from '../../apps/cli/src/parser';

const sources = path.resolve(__dirname, '../../apps/console/src');

/** Every command line that a page shows, with a word in place of each value. */
const shown = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .flatMap((file) => {
    const text = readFileSync(path.join(sources, file), 'utf8');
    const shown = text.matchAll(
      /"keystead ([^"]+)"|>keystead ([^<]+)<|`keystead ((?:\$\{(?:[^{}`]|`[^`]*`)*\}|[^`$])+)`/g,
    );
    return [...shown].map(([, plain, marked, template]) => [file, (plain ?? marked ?? template)!] as const);
  });

/** A value is replaced by a word, a choice by its first option, and an optional part is removed. */
const filled = (line: string): readonly string[] =>
  line
    .replace(/\$\{[^{}]*? \? '' : (`[^`]*`|[^{}])*\}/g, '')
    .replace(/\$\{[^{}]*\{[^{}]*\}[^{}]*\}/g, '')
    .replace(/\$\{[^{}]*\? '(\w+)' : '\w+'\}/g, '$1')
    .replace('${verb}', 'move')
    .replace('${flags}', '')
    .replace(/\$?\{[^{}]*\}/g, 'value')
    .split(' ');

describe('the commands that pages show', () => {
  it('are many', () => expect(shown.length).toBeGreaterThan(40));

  it.each(shown)('can be parsed: in %s, keystead %s', (_, line) => {
    const words = filled(line);
    const names = namesOf(parse(vocabulary, words).spec);
    expect(names.some((name) => `${words.join(' ')} `.startsWith(`${name} `))).toBe(true);
  });
});
