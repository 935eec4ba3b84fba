import { describe, expect, it } from '@jest/globals';
import { concerns, type Triggers, tagsOf, waitingFor } from './triggers';

const settings = (given: Partial<Triggers>): Triggers => ({
  fileTriggersEnabled: true,
  triggerPrefixes: [],
  triggerPatterns: [],
  workingDirectory: null,
  varFiles: [],
  ...given,
});

describe('the check whether changes concern a workspace', () => {
  it.each<[string, Partial<Triggers>, string[] | undefined, boolean]>([
    ['every change, without a folder', {}, ['a.tf'], true],
    ['every change, if not all paths are known', { workingDirectory: 'net' }, undefined, true],
    ['changes in its folder', { workingDirectory: 'net/' }, ['net/a/b.tf'], true],
    ['changes in its folder, named with a leading slash', { workingDirectory: '/net' }, ['net/a/b.tf'], true],
    ['no folder that only begins with its name', { workingDirectory: '/net' }, ['network/a.tf'], false],
    ['no sibling folder', { workingDirectory: 'net' }, ['network/a.tf', 'b.tf'], false],
    ['changes below a prefix', { workingDirectory: 'net', triggerPrefixes: ['/modules'] }, ['modules/x.tf'], true],
    ['no changes outside its prefixes', { triggerPrefixes: ['modules'] }, ['net/x.tf'], false],
    ['its variable files', { workingDirectory: 'net', varFiles: ['/envs/a.tfvars'] }, ['envs/a.tfvars'], true],
    [
      'no file of the same name in another folder',
      { workingDirectory: 'net', varFiles: ['a.tfvars'] },
      ['a.tfvars'],
      false,
    ],
    ['every change, without file triggers', { fileTriggersEnabled: false, workingDirectory: 'net' }, ['b.tf'], true],
    ['changes that match a pattern', { triggerPatterns: ['/modules/**/*.tf'] }, ['modules/a/b/c.tf'], true],
    ['a pattern at its first folder', { triggerPatterns: ['modules/**/*.tf'] }, ['modules/c.tf'], true],
    ['no star across folders', { triggerPatterns: ['modules/*.tf'] }, ['modules/a/c.tf'], false],
    ['literal pattern characters', { triggerPatterns: ['a.c'] }, ['abc'], false],
    ['paths in any script', { triggerPatterns: ['größe/*'] }, ['größe/ß.tf'], true],
    ['no empty change', { workingDirectory: 'net' }, [], false],
  ])('finds %s', async (_what, given, files, expected) => {
    expect(await concerns(settings(given), files)).toBe(expected);
  });

  it('lets other requests run, and limits the number of comparisons', async () => {
    const patterns = (count: number) => Array.from({ length: count }, (_, at) => `${'*a'.repeat(500)}${at}`);
    const files = Array.from({ length: 10 }, () => 'a'.repeat(1000));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    expect(await concerns(settings({ triggerPatterns: patterns(10) }), files)).toBe(false);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    const usual = Array.from({ length: 1000 }, (_, at) => `modules/net-${at}/**/*`);
    const changed = Array.from({ length: 300 }, (_, at) => `environments/production/region-${at}/main.tf`);
    expect(await concerns(settings({ triggerPatterns: usual }), changed)).toBe(false);
    expect(await concerns(settings({ triggerPatterns: patterns(1000) }), files)).toBe(true);
  });

  it('finds the expression for tags anywhere in the name of a tag', async () => {
    const names = ['v12', 'v12-rc', 'rel-1.2'].map((name) => ({ name }));
    const found = async (expression: string) => (await tagsOf(expression, names)).map(({ name }) => name);
    expect(await found('^v\\d+$')).toEqual(['v12']);
    expect(await found('\\d+\\.\\d+')).toEqual(['rel-1.2']);
    const waiting = [{ vcsTagsRegex: '^v' }, { vcsTagsRegex: null }, { vcsTagsRegex: 'rc$' }];
    expect(await waitingFor('v12', waiting)).toEqual([{ vcsTagsRegex: '^v' }]);
  });

  it('lets other requests run with many tags, and many workspaces', async () => {
    const vcsTagsRegex = '(?:[a-z]*){1000}0';
    const tags = Array.from({ length: 60 }, (_, at) => ({ name: `${'a'.repeat(250)}${at + 1}x` }));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await tagsOf(vcsTagsRegex, tags);
    const between = turns;
    const workspaces = Array.from({ length: 60 }, () => ({ vcsTagsRegex }));
    await waitingFor('x', workspaces);
    clearInterval(timer);
    expect([between > 0, turns - between > 0]).toEqual([true, true]);
  });
});
