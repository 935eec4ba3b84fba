import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type Block, blocksOf } from './guides/document';
import { notRun, pagesRunBy } from './pages';

const root = join(__dirname, '..');
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((page) => existsSync(join(root, page)));
/** `sh` is run, `console` is only for the reader. */
const languages = ['sh', 'console', 'text', 'json', 'yaml', 'hcl', 'ini', 'nginx', 'python', 'mermaid', 'md', 'rego'];
const isRun: ReadonlySet<string> = new Set(Object.values(pagesRunBy).flat());

const programs =
  'sudo|export|docker|kubectl|helm|npm|npx|pnpm|curl|keystead|terraform|tofu|bao|vault|git|node|go|pip|python3?|cp|openssl|systemctl';
const command = new RegExp(`^(\\$ |\\./\\w|([A-Z_]+=\\S* )+\\S|(${programs}) [\\w./-])`, 'm');

const where = (page: string, { line, language }: Block): string => `${page}:${line} (${language})`;
const blocksWhere = (isSought: (block: Block, page: string) => boolean): string[] =>
  pages.flatMap((page) =>
    blocksOf(join(root, page))
      .filter((block) => isSought(block, page))
      .map((block) => where(page, block)),
  );

describe('the blocks of all pages', () => {
  it('name their language', () => {
    expect(blocksWhere(({ language }) => !languages.includes(language))).toEqual([]);
  });

  it('are marked as commands if they contain some', () => {
    expect(blocksWhere(({ language, text }) => language === 'text' && command.test(text))).toEqual([]);
  });

  it('are run by a test if they are marked sh', () => {
    expect(blocksWhere(({ language }, page) => language === 'sh' && !isRun.has(page))).toEqual([]);
  });

  it('are marked console only on the pages that are listed with a reason why no test runs them', () => {
    const marked = pages.filter((page) => blocksOf(join(root, page)).some(({ language }) => language === 'console'));
    expect(marked.sort()).toEqual(Object.keys(notRun).sort());
  });

  it.each(['docker compose up', './keystead kv get a/b', 'A=b C= node x.js', '$ ls', 'export A=b'])(
    'contain commands if they have %s',
    (line) => expect(command.test(`before\n${line}`)).toBe(true),
  );

  it.each(['keystead:', 'file  git', 'node_modules', 'A=b', 'terraform {'])('contain none if they have %s', (line) =>
    expect(command.test(line)).toBe(false),
  );
});

it('every test that runs pages exists and has pages', () => {
  for (const [test, run] of Object.entries(pagesRunBy)) {
    expect(existsSync(join(root, test))).toBe(true);
    expect(run.length).toBeGreaterThan(5);
    expect(run.filter((page) => !pages.includes(page))).toEqual([]);
  }
});
