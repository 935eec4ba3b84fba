import { parseEnv } from 'node:util';
import { exactJson, parseExact } from '@keystead/envelope';
import { exitCodes, Problem } from '../problem';

/** A variable from a file: a string, or an HCL expression. */
export interface Assignment {
  readonly key: string;
  readonly value: string;
  readonly hcl: boolean;
}

const NAME = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/** Reads `NAME=value` lines. Throws `Problem` if there are none. */
export function readDotEnv(text: string, file: string): Assignment[] {
  const found = Object.entries(parseEnv(text)).map(([key, value]) => ({ key, value: value ?? '', hcl: false }));
  if (found.length === 0) throw new Problem(`${file} sets no variable`, exitCodes.file);
  return found;
}

/** Reads `name = expression` assignments, or a JSON object. Throws `Problem` with the invalid line. */
export function readVariableFile(text: string, file: string): Assignment[] {
  const found = text.trimStart().startsWith('{') ? readJson(text, file) : readAssignments(text, file);
  if (found.length === 0) throw new Problem(`${file} sets no variable`, exitCodes.file);
  return found;
}

function readJson(text: string, file: string): Assignment[] {
  let parsed: unknown;
  try {
    parsed = parseExact(text);
  } catch {
    throw new Problem(`${file} is not JSON`, exitCodes.file);
  }
  return Object.entries(parsed as object).map(([key, value]) =>
    typeof value === 'string' ? { key, value, hcl: false } : { key, value: exactJson(value), hcl: true },
  );
}

/** Splits a file line by line; an expression continues while a bracket or a heredoc is open. */
function readAssignments(text: string, file: string): Assignment[] {
  const lines = text.split(/\r?\n/);
  const found: Assignment[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = (lines[at] ?? '').trim();
    if (line === '' || line.startsWith('#') || line.startsWith('//')) continue;
    const begin = at + 1;
    const split = line.indexOf('=');
    const key = line.slice(0, Math.max(split, 0)).trim().replace(/^"|"$/g, '');
    if (!NAME.test(key)) throw new Problem(`${file}:${begin}: give name = value`, exitCodes.file);
    const parts = [line.slice(split + 1).trim()];
    for (let open = depthOf(parts.join('\n')); open !== 'closed'; open = depthOf(parts.join('\n'))) {
      at += 1;
      if (at >= lines.length) throw new Problem(`${file}:${begin}: ${key} has no end`, exitCodes.file);
      parts.push(lines[at] ?? '');
    }
    const expression = withoutComment(parts.join('\n'));
    if (expression === '') throw new Problem(`${file}:${begin}: ${key} has no value`, exitCodes.file);
    found.push({ key, ...readValue(expression) });
  }
  return found;
}

/** `closed` if an expression is complete, without an open bracket, heredoc or string. */
function depthOf(expression: string): 'open' | 'closed' {
  const heredoc = /^<<-?([A-Za-z_]\w*)[^\n]*\n?/.exec(expression);
  if (heredoc) {
    const lines = expression.split('\n').slice(1);
    return lines.some((line) => line.trim() === heredoc[1]) ? 'closed' : 'open';
  }
  let depth = 0;
  for (const token of tokensOf(expression)) {
    if ('[{('.includes(token)) depth += 1;
    if (']})'.includes(token)) depth -= 1;
  }
  return depth > 0 ? 'open' : 'closed';
}

/** The expression without a trailing comment. */
function withoutComment(expression: string): string {
  let length = 0;
  for (const token of tokensOf(expression)) {
    if (token.startsWith('#') || token.startsWith('//')) {
      // A comment within brackets is part of the expression.
      if (!expression.slice(length).includes('\n')) return expression.slice(0, length).trim();
    }
    length += token.length;
  }
  return expression.trim();
}

/** Strings and comments as one piece each, everything else character by character. */
function tokensOf(expression: string): string[] {
  return expression.match(/"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|\/\/[^\n]*|[\s\S]/g) ?? [];
}

function readValue(expression: string): { value: string; hcl: boolean } {
  const isText = /^"(?:[^"\\]|\\.)*"$/.test(expression) && !/[$%]\{/.test(expression);
  if (!isText) return { value: expression, hcl: true };
  try {
    return { value: JSON.parse(expression) as string, hcl: false };
  } catch {
    return { value: expression, hcl: true };
  }
}
