import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = path.join(__dirname, '..');
const passedOver = new Set(['node_modules', 'dist', 'data', 'coverage', '.git', '.turbo']);

/** Every page below a folder. */
function pagesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) return passedOver.has(entry.name) ? [] : pagesOf(at);
    return entry.name.endsWith('.md') ? [at] : [];
  });
}

const proseOf = (page: string) => readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```/gm, '');

/** The names under which the headings of a page can be linked to. */
const anchorsOf = (page: string) =>
  [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );

function brokenLinks(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link]) => {
    if (/^[a-z]+:/.test(link!)) return [];
    const [file = '', anchor] = link!.split('#');
    const target = file === '' ? page : path.resolve(path.dirname(page), file);
    const leadsSomewhere = existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
    return leadsSomewhere ? [] : [`${path.relative(root, page)}: ${link}`];
  });
}

describe('the links of all pages', () => {
  const pages = pagesOf(root);

  it('lead to files and headings that exist', () => {
    expect(pages.length).toBeGreaterThan(80);
    expect(pages.flatMap(brokenLinks)).toEqual([]);
  });

  it('lead to every guide and decision from its list', () => {
    for (const list of ['docs/guides', 'docs/internals/decisions']) {
      const named = proseOf(path.join(root, list, 'README.md'));
      const here = pages
        .filter((page) => path.dirname(page) === path.join(root, list))
        .map((page) => path.basename(page));
      expect(here.filter((name) => name !== 'README.md' && !named.includes(`(${name})`))).toEqual([]);
    }
  });
});
