import { badParameter } from './errors';
import { instantIn } from './instants';

const mostConditions = 50;

/**
 * The conditions of a parameter, without duplicates. The database plans each condition, which would take minutes for
 * thousands of them. Throws `malformed` for too many.
 */
export function requireFew<T>(parameter: string, conditions: readonly T[]): T[] {
  const distinct = [...new Set(conditions)];
  if (distinct.length > mostConditions)
    throw badParameter(parameter, `${parameter} has too many members (maximum is ${mostConditions})`);
  return distinct;
}

/**
 * The parameters of a request's query string, brackets decoded. If a parameter is repeated, the last value is used; for
 * a list (`name[]`), all values are used.
 */
export class Query {
  private constructor(readonly entries: ReadonlyMap<string, string>) {}

  /** Parses a query string. An invalid percent-encoding is kept as sent. */
  static parse(search: string): Query {
    const entries = new Map<string, string>();
    if (search !== '') {
      for (const [name, value] of new URLSearchParams(search)) {
        const before = name.endsWith('[]') ? entries.get(name) : undefined;
        entries.set(name, before === undefined ? value : `${before},${value}`);
      }
    }
    return new Query(entries);
  }

  /** The value; undefined if it is absent or blank. */
  get(name: string): string | undefined {
    const value = this.entries.get(name)?.trim();
    return value === '' ? undefined : value;
  }

  /** The instant in a parameter. Throws `malformed` for other text. */
  instant(name: string): Date | undefined {
    const text = this.get(name);
    const at = text === undefined ? undefined : instantIn(text);
    if (text !== undefined && at === undefined) {
      throw badParameter(name, `${name} must be a date or an instant such as 2026-11-23T12:00:00Z`);
    }
    return at;
  }

  /** The members of a comma-separated value. */
  list(name: string): string[] {
    return (this.get(name) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  }

  /** The requested sort keys, checked against the supported ones. Each can have a leading dash. */
  sort(supported: readonly string[]): { key: string; descending: boolean }[] {
    return this.list('sort').map((part) => {
      const descending = part.startsWith('-');
      const key = descending ? part.slice(1) : part;
      if (!supported.includes(key)) throw badParameter('sort', `Invalid sort parameter: ${part}`);
      return { key, descending };
    });
  }

  /** The requested include paths, checked against those offered. */
  include(supported: readonly string[]): string[] {
    const paths = this.list('include');
    for (const path of paths) {
      if (!supported.includes(path)) throw badParameter('include', `Invalid include parameter: ${path}`);
    }
    return paths;
  }
}
