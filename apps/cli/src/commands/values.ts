import { readFileSync } from 'node:fs';
import { ExactNumber, parseExact } from '@keystead/envelope';
import type { Ask } from '../ask';
import { Problem } from '../problem';

/** How `name=value` arguments are written, for help. */
export const valuesHelp =
  'Values are text: name=value. name=@file reads a file, name=- reads standard input, and name:=value takes JSON.\n' +
  '@file or - without a name reads a JSON object. A name given twice becomes a list; \\@ starts a value with a plain @.';

/** Reads `name=value` arguments. Throws `Problem` naming the bad one. */
export async function parseValues(values: readonly string[], ask: Ask): Promise<Record<string, unknown>> {
  const entries = new Map<string, unknown>();
  const add = (name: string, value: unknown) => {
    const before = entries.get(name);
    entries.set(name, entries.has(name) ? [before, value].flat() : value);
  };
  for (const text of values) {
    if (text === '-' || text.startsWith('@')) {
      const source = text === '-' ? 'standard input' : text.slice(1);
      const whole = parseJson(text === '-' ? await ask.all() : readText(source), source);
      if (typeof whole !== 'object' || whole === null || Array.isArray(whole) || whole instanceof ExactNumber) {
        throw new Problem(`${source} does not contain a JSON object`);
      }
      for (const [name, value] of Object.entries(whole)) add(name, value);
      continue;
    }
    const at = text.indexOf('=');
    if (at < 1) throw new Problem(`${text}: give name=value, name:=json, name=@file or name=-`);
    const value = text.slice(at + 1);
    if (text[at - 1] === ':' && at > 1) {
      const name = text.slice(0, at - 1);
      add(name, parseJson(value, name));
    } else {
      add(text.slice(0, at), await parseText(value, ask));
    }
  }
  return Object.fromEntries(entries);
}

/** Reads `name=value` pairs, as for custom metadata and options. */
export function parsePairs(pairs: readonly string[] = [], flag: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Problem(`${flag} ${pair}: give name=value`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Reads a whole number from a flag. */
export function count(text: string, flag: string): number {
  if (!/^\d+$/.test(text)) throw new Problem(`${flag} ${text}: give a whole number`);
  return Number(text);
}

/** The names in one or more values, each of which may be a comma-separated list. */
export function listed(values: readonly string[] | undefined): string[] | undefined {
  return values?.flatMap((text) => text.split(',')).map((text) => text.trim());
}

/** The text of a file, or of standard input if it is `-`. */
export async function readInput(file: string, ask: Ask): Promise<string> {
  return file === '-' ? ask.all() : readText(file);
}

async function parseText(value: string, ask: Ask): Promise<string> {
  if (value === '-') return ask.all();
  if (value.startsWith('\\@')) return value.slice(1);
  return value.startsWith('@') ? readText(value.slice(1)) : value;
}

function parseJson(text: string, where: string): unknown {
  try {
    return parseExact(text);
  } catch {
    throw new Problem(`${where} is not JSON`);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new Problem(`${file} cannot be read`);
  }
}
