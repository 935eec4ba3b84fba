import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const root = join(__dirname, '..');
/** Not prose for users: records, generated pages, and the specifications. */
const passedOver = /^docs\/(internals|spec)\/|^docs\/commands\.md$/;
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((page) => /^(docs|changes)\/|^[A-Z]+\.md$/.test(page) && page !== 'CHANGELOG.md')
  .filter((page) => !passedOver.test(page) && existsSync(join(root, page)));

/** Word order and words of another language, each with what to write instead. */
const instead: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, 'anyone who, people who'],
  [/\b(nobody|somebody|anybody|everybody)\b/i, 'no one, someone, anyone, everyone; better the role'],
  [/\bwhatever\b/i, 'any, everything that, regardless of'],
  [/\banew\b/i, 'again'],
  [/\balone\b/i, 'only'],
  [/\bof (its|their|his|her) own\b/i, 'its own, separate'],
  [/\bstands? (for|in|here|there)\b/i, 'is, means, appears'],
  [/\btells? of\b/i, 'reports'],
  [/\b(heed|in vain)\b/i, 'follow; without success'],
  [/\bat one moment\b/i, 'at the same time'],
  [/\bwhat is no\b/i, 'other things than'],
  [/\bmay everything\b/i, 'may do everything'],
];

/** A page's text: code blocks, code in lines and targets of links are blank. */
const proseOf = (text: string): string =>
  text.replace(/^ *```[\s\S]*?^ *```|`[^`]*`|\]\([^)]*\)/gm, (code) => code.replace(/[^\n]/g, ' '));

const stumbles = (text: string): string[] =>
  proseOf(text)
    .split('\n')
    .flatMap((line, index) =>
      instead.flatMap(([form, better]) => {
        const found = form.exec(line);
        return found ? [`${index + 1}: "${found[0]}"; write: ${better}`] : [];
      }),
    );

it('pages for users are written in plain English', () => {
  expect(pages.length).toBeGreaterThan(50);
  const found = pages.flatMap((page) =>
    stumbles(readFileSync(join(root, page), 'utf8')).map((stumble) => `${page}:${stumble}`),
  );
  expect(found).toEqual([]);
});

it.each([
  'Whoever may do this.',
  'A key of its own.',
  'It stands\nfor this: it stands for it.',
  'By https alone.',
  'Ask anew.',
])('the words of "%s" are noticed', (text) => expect(stumbles(text)).toHaveLength(1));

it.each([
  '`whoever` is a name',
  '```sh\necho alone\n```',
  '[why](0128-an-agent-needs-a-token-alone.md)',
  'A database of your own.',
])('"%s" has none of them', (text) => expect(stumbles(text)).toEqual([]));
