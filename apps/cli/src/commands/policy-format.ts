import { exactJson, parseExact } from '@keystead/envelope';
import { exitCodes, Problem } from '../problem';

type PolicyToken = {
  readonly kind: 'word' | 'comment' | 'open' | 'close' | 'comma' | 'assign' | 'line';
  readonly text: string;
};

const pieces = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*|//[^\n]*|/\*[\s\S]*?\*/)`,
    String.raw`(?<word><<-?(?<mark>\w+)\n[\s\S]*?\n[ \t]*\k<mark>(?=\n|$)|"(?:\\.|[^"\\\n])*"|[\w.+-]+)`,
    String.raw`(?<line>\n)`,
    '(?<open>[[{])',
    String.raw`(?<close>[\]}])`,
    '(?<comma>,)',
    '(?<assign>=)',
    String.raw`[ \t\r]+`,
  ].join('|'),
  'gy',
);
const kinds = ['comment', 'word', 'line', 'open', 'close', 'comma', 'assign'] as const;

/**
 * Formats a policy: two spaces per level, one space between tokens, no two empty lines in a row. Line breaks are kept.
 * Throws if a string is not closed or brackets do not match.
 */
export function formatPolicy(text: string): string {
  if (text.trimStart().startsWith('{')) return formatJson(text);
  const lines: string[] = [];
  const brackets: string[] = [];
  for (const row of rowsOf(text)) {
    const depth = brackets.length - (row[0]?.kind === 'close' ? 1 : 0);
    for (const piece of row) {
      if (piece.kind === 'open') brackets.push(piece.text);
      if (piece.kind === 'close' && brackets.pop() !== (piece.text === ']' ? '[' : '{')) {
        throw wrong(lines.length, `${piece.text} closes nothing`);
      }
    }
    const line = row.map((piece, at) => gap(row[at - 1], piece) + piece.text).join('');
    if (line !== '' || (lines.length > 0 && lines.at(-1) !== '')) {
      lines.push(line === '' ? '' : '  '.repeat(Math.min(depth, brackets.length)) + line);
    }
  }
  if (brackets.length > 0) throw wrong(lines.length - 1, `${brackets.at(-1)} is not closed`);
  return `${lines.join('\n').trimEnd()}\n`;
}

/** The tokens of a policy, by line. */
function rowsOf(text: string): PolicyToken[][] {
  const rows: PolicyToken[][] = [[]];
  pieces.lastIndex = 0;
  while (pieces.lastIndex < text.length) {
    const found = pieces.exec(text);
    if (!found) throw wrong(rows.length - 1, 'this is not a policy, or a string in it is not closed');
    const kind = kinds.find((one) => found.groups?.[one] !== undefined);
    if (kind === 'line') rows.push([]);
    else if (kind) rows.at(-1)!.push({ kind, text: found[0].trimEnd() });
  }
  return rows;
}

function gap(before: PolicyToken | undefined, piece: PolicyToken): string {
  if (!before || piece.kind === 'comma') return '';
  if (before.text === '[' || piece.text === ']') return '';
  return before.text === '{' && piece.text === '}' ? '' : ' ';
}

function formatJson(text: string): string {
  try {
    return `${exactJson(parseExact(text), 2)}\n`;
  } catch {
    throw new Problem('the policy is not JSON', exitCodes.refused);
  }
}

const wrong = (line: number, why: string): Problem => new Problem(`line ${line + 1}: ${why}`, exitCodes.refused);
