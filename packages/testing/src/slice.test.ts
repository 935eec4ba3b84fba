import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { slice, slicingOf } from './slice';

const items = Array.from({ length: 49 }, (_, n) => `thing ${n}!`);
const same = (text: string) => text;

describe('a slice of a walk', () => {
  it('is another twentieth every day, and covers everything in twenty days', () => {
    const days = Array.from({ length: 20 }, (_, day) => slice(items, same, { changed: [], day }));
    expect(days.map(({ length }) => length)).toEqual([...Array(9).fill(3), ...Array(11).fill(2)]);
    expect(days.flat().sort()).toEqual([...items].sort());
  });

  it('also includes changed items', () => {
    const changed = ['declares thing 7! and thing 8!'];
    expect(slice(items, same, { changed, day: 8 })).toEqual([7, 8, 28, 48].map((n) => `thing ${n}!`));
  });

  it('includes at most a twelfth of all items because of changes, different ones each day', () => {
    const changed = [items.slice(0, 21).join()];
    const days = [0, 1, 2, 3, 4, 5].map((day) =>
      slice(items, same, { changed, day: day + 60 }).filter((one) => changed[0]!.includes(one)),
    );
    expect(days.every(({ length }) => length >= 3 && length <= 6)).toBe(true);
    expect(new Set(days.flat()).size).toBe(21);
  });

  it('is never empty unless there are no items', () => {
    for (let day = 0; day < 20; day++) {
      expect(slice(['one', 'two', 'three'], same, { changed: [], day })).toHaveLength(1);
    }
    expect(slice([], same, { changed: [], day: 1 })).toEqual([]);
  });
});

describe('the changes in a repository', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-slice-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const git = (date: string, ...args: string[]) => {
    const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a' };
    const env = { ...process.env, ...who, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    return execFileSync('git', args, { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' }).trim();
  };
  const write = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  const commit = (date: string) => {
    git(date, 'add', '.');
    git(date, 'commit', '--quiet', '--message', 'x');
    return git(date, 'rev-parse', 'HEAD');
  };
  let first = '';

  beforeAll(() => {
    git('', 'init', '--quiet', '--initial-branch=main');
    write('app/src/teams/routes.ts', 'teams');
    write('app/src/runs/routes.ts', 'runs');
    write('app/src/runs/jobs/job.ts', 'jobs');
    first = commit('2026-01-10T00:00:00Z');
    write('app/src/teams/routes.test.ts', 'a test');
    commit('2026-01-10T02:00:00Z');
    write('app/src/runs/jobs/job.ts', 'other jobs');
    write('app/src/registry.ts', 'all of them');
    commit('2026-01-10T09:00:00Z');
  });

  it('are the contents of folders with changed sources and of their parents; on the main branch, for the last six hours', () => {
    const { changed, day } = slicingOf(folder);
    expect([[...changed].sort(), day]).toEqual([['other jobs', 'runs'], Date.parse('2026-01-10') / 86_400_000]);
  });

  it('are those of the whole branch', () => {
    git('', 'update-ref', 'refs/remotes/origin/main', first);
    write('app/src/teams/service.ts', 'service');
    commit('2026-01-11T09:00:00Z');
    expect([...slicingOf(folder).changed].sort()).toEqual(['other jobs', 'runs', 'service', 'teams']);
  });

  it('are the differences from a named commit', () => {
    expect([...slicingOf(folder, 'HEAD~1').changed].sort()).toEqual(['service', 'teams']);
  });

  it('do not include sources with only changed comments', () => {
    write('app/src/runs/jobs/job.ts', '/** What was said of it, in other words. */\nother   jobs // and more');
    commit('2026-01-11T10:00:00Z');
    expect(slicingOf(folder, 'HEAD~1').changed).toEqual([]);
    write('app/src/runs/jobs/job.ts', 'yet.other(jobs) // and more');
    expect(slicingOf(folder, 'HEAD').changed).toHaveLength(2);
  });

  it('are empty without history', () => {
    expect(slicingOf(folder, 'no-such-commit').changed).toEqual([]);
    expect(slicingOf(tmpdir())).toEqual({ changed: [], day: 0 });
  });
});
