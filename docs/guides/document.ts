import { readFileSync } from 'node:fs';

/** A fenced shell block of a guide, as a reader would paste it. */
export interface Step {
  /** Line of the fence, counted from 1. */
  line: number;
  /** Title of its section. */
  section: string;
  command: string;
  /** Text of the `json` or `text` block right after it: the expected output. */
  shows?: string;
}

/** A fenced block of a page. */
export interface Block {
  /** Line of the fence, counted from 1. */
  line: number;
  /** Title of its section. */
  section: string;
  /** The info string of the fence; empty if there is none. */
  language: string;
  text: string;
}

const FENCE = /^(\s*)```+(.*)$/;

/** All fenced blocks of a page, in order; one within a list without its indentation. */
export function blocksOf(path: string): Block[] {
  const blocks: Block[] = [];
  let section = '';
  let open: { indent: string; language: string; line: number; text: string[] } | undefined;
  readFileSync(path, 'utf8')
    .split('\n')
    .forEach((text, index) => {
      const [, indent = '', language = ''] = FENCE.exec(text) ?? [];
      const isFence = FENCE.test(text);
      if (open && isFence && language === '') {
        blocks.push({ line: open.line, section, language: open.language, text: open.text.join('\n') });
        open = undefined;
      } else if (open) open.text.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
      else if (isFence) open = { indent, language: language.trim(), line: index + 1, text: [] };
      else if (/^#+ /.test(text)) section = text.replace(/^#+ /, '').trim();
    });
  if (open) throw new Error(`${path}:${open.line}: the block is never closed`);
  return blocks;
}

/**
 * The commands of a guide, in order: every fence marked `sh`. Blocks marked otherwise are not run; a `json` or `text`
 * block that follows a command before any other command is the output the page shows for it.
 */
export function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  let last: Step | undefined;
  for (const { line, section, language, text } of blocksOf(path)) {
    if (language === 'sh') {
      last = { line, section, command: text };
      steps.push(last);
    } else if (language === 'console') last = undefined;
    else if ((language === 'json' || language === 'text') && last && !last.shows) last.shows = text;
  }
  return steps;
}

/**
 * Where printed output differs from a page; undefined if it matches.
 *
 * `…` in the shown text means anything on one line, and a line that is only `…` any number of lines. JSON is compared
 * as values: every key shown must be there, with the same value unless it is a string that contains `…`; the key `…`
 * means any key: one of the values must be the one shown. Of several printed answers, the last one is compared.
 */
export function differenceOf(shown: string, printed: string): string | undefined {
  const expected = parseJson(shown);
  const actual = expected === undefined ? undefined : lastJson(printed);
  if (expected !== undefined && actual !== undefined) return differs(expected, actual, '');
  const pattern = shown
    .trim()
    .split('\n')
    .map((line) => (line.trim() === '…' ? '[^]*?' : line.trimEnd().split('…').map(literal).join('.*')))
    .join('\\n');
  return new RegExp(`^${pattern}$`).test(printed.trim())
    ? undefined
    : `printed\n${printed.trim()}\ninstead of\n${shown}`;
}

function differs(shown: unknown, actual: unknown, at: string): string | undefined {
  const where = at || 'the document';
  if (typeof shown === 'string' && shown.includes('…')) {
    const pattern = new RegExp(`^${shown.split('…').map(literal).join('[^]*')}$`);
    return shown === '…' || pattern.test(String(actual)) ? undefined : `${where} is ${JSON.stringify(actual)}`;
  }
  if (Array.isArray(shown)) {
    if (!Array.isArray(actual)) return `${where} is not a list`;
    if (actual.length < shown.length) return `${where} has ${actual.length} items, not ${shown.length}`;
    return first(shown.map((item, index) => differs(item, actual[index], `${at}[${index}]`)));
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof actual !== 'object' || actual === null) return `${where} is ${JSON.stringify(actual)}, no object`;
    const found = actual as Record<string, unknown>;
    return first(
      Object.entries(shown).map(([key, value]) => {
        const below = at ? `${at}.${key}` : key;
        if (key !== '…') return key in found ? differs(value, found[key], below) : `${where} has no ${key}`;
        const differences = Object.values(found).map((one) => differs(value, one, below));
        return differences.includes(undefined) ? undefined : (differences[0] ?? `${where} is empty`);
      }),
    );
  }
  return shown === actual ? undefined : `${where} is ${JSON.stringify(actual)}, not ${JSON.stringify(shown)}`;
}

function first(found: readonly (string | undefined)[]): string | undefined {
  return found.find((text) => text !== undefined);
}

function lastJson(printed: string): unknown {
  const lines = printed.trim().split('\n');
  // Tries the whole output first, then shorter parts, so that a line within an answer is not read as an answer.
  for (let from = 0; from < lines.length; from++) {
    const found = parseJson(lines.slice(from).join('\n'));
    if (found !== undefined) return found;
  }
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
