import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One row of a table, one item of a numbered list, or one sentence of a specification: the unit a test can prove. */
export interface SpecRow {
  /**
   * `S20.1`: service letter, table number counted through the document, row number in the table. `SP.7`: the seventh
   * sentence outside of tables, counted through the document.
   */
  id: string;
  /** Titles of the enclosing sections, outermost first, without the document's own. */
  section: string;
  /** First cells of the row, or the beginning of the list item or sentence. */
  text: string;
  /** All cells of the row in full; for a list item or a sentence, its text. */
  cells: readonly string[];
  /** True if it only says that something is not specified, or describes the document itself. */
  silent: boolean;
}

/** A specification document and the letter its ids start with. */
export interface Spec {
  file: string;
  letter: 'S' | 'E' | 'W';
  title: string;
}

export const specs: readonly Spec[] = [
  { file: 'docs/spec/secrets-service.md', letter: 'S', title: 'Secrets service' },
  { file: 'docs/spec/engines.md', letter: 'E', title: 'Engines of the secrets service' },
  { file: 'docs/spec/workspace-service.md', letter: 'W', title: 'Workspace service' },
];

/** Lists that state behaviour and therefore carry ids too: `SA.1` is the first item under Authentication. */
const listedSections: Readonly<Record<string, string>> = { Authentication: 'A', Versioning: 'V' };

const TEXT_WIDTH = 110;

/** Sentences about the document instead of the service. */
const ABOUT_ITSELF =
  /^(This document covers|Paths, fields and their defaults|A (second|separate) document|Base address: `\{base_url\}`\.$|Path segments written|Only the recovery-key rekey has a lifecycle|Field meanings are)/;
const NOTHING_SPECIFIED = /: not shown( beyond identifiers)?\.$/;

/** Every row of one specification, in document order. */
export function rowsOf(spec: Spec, root: string): SpecRow[] {
  const lines = readFileSync(join(root, spec.file), 'utf8').split('\n');
  const rows: SpecRow[] = [];
  const headings: string[] = [];
  let table = 0;
  let rowInTable = 0;
  let itemInSection = 0;
  let sentence = 0;
  lines.forEach((line, index) => {
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (heading) {
      headings.splice((heading[1] ?? '').length - 1);
      headings[(heading[1] ?? '').length - 1] = (heading[2] ?? '').trim();
      itemInSection = 0;
      return;
    }
    const section = headings.slice(1).filter(Boolean).join(' / ');
    if (line.startsWith('|')) {
      if (isSeparator(line)) {
        table += 1;
        rowInTable = 0;
      } else if (!isSeparator(lines[index + 1] ?? '')) {
        rowInTable += 1;
        rows.push({
          id: `${spec.letter}${table}.${rowInTable}`,
          section,
          text: cellsOf(line).filter(Boolean).slice(0, 2).join(' · '),
          cells: cellsOf(line),
          silent: false,
        });
      }
      return;
    }
    const list = listedSections[headings[1] ?? ''];
    const item = /^(?:\d+\.|-) (.*)$/.exec(line);
    if (list && item) {
      itemInSection += 1;
      rows.push({
        id: `${spec.letter}${list}.${itemInSection}`,
        section,
        text: item[1] ?? '',
        cells: [item[1] ?? ''],
        silent: NOTHING_SPECIFIED.test(line),
      });
    } else if (!list) {
      for (const text of sentencesOf(line)) {
        sentence += 1;
        const silent = NOTHING_SPECIFIED.test(text) || ABOUT_ITSELF.test(text);
        rows.push({ id: `${spec.letter}P.${sentence}`, section, text, cells: [text], silent });
      }
    }
  });
  return rows.map((row) => ({ ...row, text: shorten(row.text) }));
}

/** Titles of every section of a specification, as docstrings may cite them after `Spec:`. */
export function sectionTitles(spec: Spec, root: string): Set<string> {
  const text = readFileSync(join(root, spec.file), 'utf8');
  return new Set([...text.matchAll(/^#{1,6} (.*)$/gm)].map((match) => (match[1] ?? '').trim()));
}

/** Sentences of a paragraph or list item; none if it only introduces a table or a list. */
function sentencesOf(line: string): string[] {
  const text = line.replace(/^\s*- /, '').trim();
  if (text === '' || (text.endsWith(':') && !/\bmust\b/.test(text))) return [];
  return text.split(/(?<=\.)\s+(?=[A-Z`])/);
}

function isSeparator(line: string): boolean {
  return /^\|(\s*:?-+:?\s*\|)+\s*$/.test(line);
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function shorten(text: string): string {
  return text.length <= TEXT_WIDTH ? text : `${text.slice(0, TEXT_WIDTH - 1).trimEnd()}…`;
}
