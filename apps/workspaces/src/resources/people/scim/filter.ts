import { ScimRefusal } from './dialect';

/** What is asked for: an attribute that equals a text. */
export interface Filter {
  readonly attribute: string;
  readonly value: string;
}

const longest = 2048;
const expression = /^\s*(?:urn:[\w:.-]+:)?(\w+)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/**
 * Reads a filter on an attribute that may be searched: `userName eq "ada"`. No part of it becomes SQL.
 * Throws `invalidFilter` for all other filters.
 */
export function readFilter(text: string | undefined, attributes: readonly string[]): Filter | undefined {
  if (text === undefined) return undefined;
  const offered = attributes.map((name) => `${name} eq "…"`).join(' or ');
  const refused = () => new ScimRefusal('invalidFilter', `A filter here is ${offered}.`);
  if (text.length > longest) throw refused();
  const [, name, literal] = expression.exec(text) ?? [];
  const attribute = attributes.find((one) => one.toLowerCase() === name?.toLowerCase());
  if (attribute === undefined) throw refused();
  return { attribute, value: readLiteral(literal!) ?? raise(refused()) };
}

/** The text of a literal as JSON has it; undefined if it is none. */
export function readLiteral(literal: string): string | undefined {
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === 'string' && !value.includes('\0') ? value : undefined;
  } catch {
    return undefined;
  }
}

function raise(error: Error): never {
  throw error;
}
