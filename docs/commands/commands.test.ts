import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { namesOf } from '../../apps/cli/src/command';
import { commands } from '../../apps/cli/src/commands/all';
import { pageOf } from './page';
import { absent, different, referenceCommands } from './reference';

const names = new Set(commands.flatMap(namesOf));
const page = readFileSync(join(__dirname, '..', 'commands.md'), 'utf8');

describe('the page of commands', () => {
  it('agrees with the table of commands; pnpm commands writes it', () => {
    expect(page).toBe(pageOf(commands));
  });

  it.each([...names])('has a row for %s', (name) => {
    expect(page).toMatch(new RegExp(`^\\| .*\`${name}\``, 'm'));
  });

  it('gives the status of every command of the reference', () => {
    const unexplained = referenceCommands.filter((name) => !names.has(name) && !absent[name]);
    expect(unexplained).toEqual([]);
    expect(Object.keys(absent).filter((name) => names.has(name) || !referenceCommands.includes(name))).toEqual([]);
    expect(Object.keys(different).filter((name) => !names.has(name) || !referenceCommands.includes(name))).toEqual([]);
  });
});
