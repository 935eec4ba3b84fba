import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const files = execFileSync('git', ['ls-files'], { cwd: __dirname, encoding: 'utf8', maxBuffer: 2 ** 26 })
  .trim()
  .split('\n')
  .filter((file) => existsSync(join(__dirname, file)));

/** The pages that people write, without generated pages, the specifications and the log of released changes. */
const pages = files
  .filter((file) => /^(docs|changes|bench)\/.*\.md$|^[A-Z]+\.md$/.test(file) && file !== 'CHANGELOG.md')
  .filter((page) => !/^docs\/spec\/|^docs\/commands\.md$|^docs\/internals\/conformance\.md$/.test(page));

/** All source files that we write. */
const sources = files
  .filter((file) => /\.(tsx?|[mc]js|sh|ya?ml)$/.test(file))
  .filter((file) => !/\/generated\/|^docs\/spec\/|^pnpm-lock|^plain-words/.test(file));

/** The few places where a form is right, each with the words around it. */
const right: readonly (readonly [file: string, words: string])[] = [
  ['apps/cli/test/doctor.interop.test.ts', "'-u', 'nobody'"],
  ['apps/workspaces/src/worker/config.ts', "'nobody', 'same-user'"],
  ['apps/workspaces/src/worker/config.ts', ".default('nobody')"],
  ['prisma/released/questions.ts', 'statuses: { nobody: 200 }'],
  ['prisma/released/upgrade.thorough.test.ts', "owner : 'nobody'"],
];

/** Words and word order of another language, each with a better form. */
const forms: readonly (readonly [form: string, better: string])[] = [
  ['(?:who|whom)(?:so)?ever', 'anyone who, people who'],
  ['(?:no|some|any|every)body', 'no one, someone, anyone, everyone; better the role'],
  ['whatever', 'any, everything that, regardless of'],
  ['anew', 'again'],
  ['alone', 'only'],
  ['of (?:its|their|his|her) own', 'its own, separate'],
  ['stands? (?:for|in|here|there|at|on|by|before|behind|nowhere)', 'is, means, appears'],
  ['tells? of', 'reports'],
  ['heed|in vain', 'follow; without success'],
  ['at one moment', 'at the same time'],
  ['since when', 'how long, the time since'],
  ['beside', 'next to, with, besides'],
  ['so many', 'a number of, this many'],
  ['a good part', 'much'],
  ['what is no', 'other things than'],
  ['may everything', 'may do everything'],
  ['(?:is|are|was|were) away', 'is unavailable, is down'],
  ['but for', 'except'],
  ['some (?:seconds|minutes|hours|days)', 'a few seconds'],
  ['at the latest', 'no later than, within, in any case'],
  ['how far (?:it|they) came', 'how far it got'],
  ['(?:to|from) who', 'to anyone who'],
  ['lies in|lie in (?!the future)', 'is in'],
  ['for good', 'permanently'],
  ['likewise', 'in the same way, also, or'],
  ['the own', 'its own, your own'],
  ['under way', 'in progress, running, open'],
  ['says? so', 'reports, shows, allows or requires it'],
];

/** Forms that are wrong in comments and titles of tests, but may be right in messages and pages. */
const formsOfComments: readonly (readonly [form: string, better: string])[] = [
  ['go(?:es|ing)? on|went on', 'continue'],
  ['for ever', 'forever, always'],
  ['g(?:ive|ives|iven) out', 'return, assign, disclose'],
  ['(?:is|are) to be', 'must be, will be'],
  ['what (?:is|was|are|were) (?:said|told|asked|given|made|known|meant)', 'the noun: message, request, result, data'],
  ['meanwhile', 'in the meantime'],
  ['in force', 'active, current'],
  ['a text(?! (?:area|editor|field|file|input|value))|texts', 'a string; strings, messages, contents'],
  ['mend(?:s|ed)?', 'fix, repair'],
  ['judg(?:es?|ed|ing) (?:the |a |an )?(?:plans?|polic(?:y|ies)|runs?|requests?)', 'evaluate, check'],
  ['counts? once', 'is accepted only once'],
  ['counts? as (?!well)', 'is, is treated as'],
  ['the most \\w+s', 'the maximum number of'],
  ['each once', 'without duplicates, each only once'],
  [', else (?!if|[{])', 'otherwise'],
  ['any more(?! than)', 'no longer'],
  ['(?:is|are|was|were) gone', 'no longer exists, has ended, was deleted'],
  ['(?:is|are|was|were|be) (?:told|said)', 'the noun: message, notification, reason'],
  ['begun', 'started'],
  ['made once', 'created once'],
  ['would be now', 'current, new'],
  ['not such an?', 'not a valid'],
  ['simultaneous ones', 'simultaneous requests, calls'],
  ['with which', 'that ... uses, that ... with'],
  ['that (?:is|are) none', 'invalid, malformed, not a ...'],
];

/** A space in a form matches any gap between words, because a comment or a paragraph may continue in the next line. */
const patternOf = (of: typeof forms): RegExp =>
  new RegExp(
    `\\b(?:${of.map(([form]) => `(${form.replaceAll(' ', '\\s+(?:(?:\\*|//|#)\\s+)?')})`).join('|')})\\b`,
    'gi',
  );

/** The text of a page, with code blocks, inline code and link targets replaced by blanks. */
const proseOf = (text: string): string =>
  text.replace(/^ *```[\s\S]*?^ *```|`[^`]*`|\]\([^)]*\)/gm, (code) => code.replace(/[^\n]/g, ' '));

/** The text of a source, with everything except comments replaced by blanks. */
const commentsOf = (text: string): string => {
  const blank = (code: string) => code.replace(/[^\n]/g, ' ');
  let end = 0;
  const parts = Array.from(text.matchAll(/^ *\/\*\*?\s[\s\S]*?\*\/|(?:^|(?<=\s))\/\/\/? .*$/gm), (found) => {
    const code = text.slice(end, found.index);
    end = found.index + found[0].length;
    return blank(code) + found[0];
  });
  return parts.join('') + blank(text.slice(end));
};

/** The titles of tests, and of rows of their tables, in a source, with everything else replaced by blanks. */
const titlesOf = (text: string): string => {
  const titles =
    /(\b(?:it|test|describe|journey)(?:\.\w+)*\(\s*|\)\(\s*)('(?:[^'\\\n]|\\.)*')(?=,\s*(?:async\b|\(|\w+ =>))/g;
  const rows = /(^\s*\[\s*)('[a-z](?:[^'\\\n]|\\.)* (?:[^'\\\n]|\\.)*')(?=,)/gm;
  const blank = (code: string) => code.replace(/[^\n]/g, ' ');
  const found = [...text.matchAll(titles), ...text.matchAll(rows)].sort((a, b) => a.index - b.index);
  let end = 0;
  const parts = found.map(({ index, 0: all, 1: before = '', 2: title = '' }) => {
    const code = text.slice(end, index + before.length);
    end = index + all.length;
    return blank(code) + title;
  });
  return parts.join('') + blank(text.slice(end));
};

const stumbles = (text: string, of = forms): string[] =>
  Array.from(text.matchAll(patternOf(of)), (found) => {
    const [, better] = of[found.slice(1).findIndex((group) => group !== undefined)]!;
    return `${text.slice(0, found.index).split('\n').length}: "${found[0]}"; write: ${better}`;
  });

const read = (file: string): string => readFileSync(join(__dirname, file), 'utf8');

/** The text of a source without the words that are right in this file. */
const textOf = (file: string): string =>
  right.reduce((text, [where, words]) => (where === file ? text.replace(words, '') : text), read(file));

const inFile = (file: string, text: string, of = forms): string[] =>
  stumbles(text, of).map((stumble) => `${file}:${stumble}`);

it('pages are written in plain English', () => {
  expect(pages.length).toBeGreaterThan(50);
  expect(pages.flatMap((page) => inFile(page, proseOf(read(page))))).toEqual([]);
});

it('comments, messages and names in code are written in plain English', () => {
  expect(sources.length).toBeGreaterThan(2000);
  expect(sources.flatMap((file) => inFile(file, textOf(file)))).toEqual([]);
});

it('comments use the usual words', () => {
  expect(sources.flatMap((file) => inFile(file, commentsOf(read(file)), formsOfComments))).toEqual([]);
});

it('titles of tests use the usual words', () => {
  const tests = sources.filter((file) => /\.test\.tsx?$|\/test\//.test(file));
  expect(tests.length).toBeGreaterThan(500);
  expect(tests.flatMap((file) => inFile(file, titlesOf(read(file)), formsOfComments))).toEqual([]);
});

it.each(right)('%s still has the words %s', (file, words) => expect(read(file)).toContain(words));

it.each([
  'Whoever may do this.',
  'A key of its own.',
  'It stands\nfor this.',
  '/**\n * A key of\n * its own.\n */',
  'By https alone.',
  'Ask anew.',
  'The store is\naway.',
])('the words of "%s" are noticed', (text) => expect(stumbles(text)).toHaveLength(1));

it.each([
  '// The job goes on.',
  '  /** What was said\n   * of it. */',
  'const all = 1; // of the texts',
  '/**\n * A text that is\n * short.\n */',
])('the words of the comment "%s" are noticed', (text) =>
  expect(stumbles(commentsOf(text), formsOfComments)).toHaveLength(1),
);

it.each([
  "it('goes on', () => {",
  "it.each([\n  'a text',\n])('refuses texts', async (text) => {",
  "describe('a worker that is gone', () => {",
  "it.each([\n  ['an id that is none', 1],\n])('refuses %s', (_what, id) => {",
])('the words of the title in "%s" are noticed', (text) =>
  expect(stumbles(titlesOf(text), formsOfComments)).toHaveLength(1),
);

it.each(["const said = 'it goes on';", "fetch('https://example.com/// texts')"])(
  'the code "%s" is not a comment',
  (text) => expect(stumbles(commentsOf(text), formsOfComments)).toEqual([]),
);

it.each([
  '`whoever` is a name',
  '```sh\necho alone\n```',
  '[why](0128-an-agent-needs-a-token-alone.md)',
  'A database of your own.',
])('"%s" has none of them', (text) => expect(stumbles(proseOf(text))).toEqual([]));
