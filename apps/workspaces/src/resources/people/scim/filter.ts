import { ScimRefusal } from './dialect';

/** A filter: an attribute that equals a string. */
export interface Filter {
  readonly attribute: string;
  readonly value: string;
}

const longest = 2048;
const expression = /^\s*(?:urn:[\w:.-]+:)?(\w+)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/**
 * Reads a filter on a searchable attribute: `userName eq "ada"`. No part of it becomes SQL. Throws `invalidFilter` for
 * all other filters.
 */
export function readFilter(text: string | undefined, attributes: readonly string[]): Filter | undefined {
  if (text === undefined) return undefined;
  const supported = attributes.map((name) => `${name} eq "…"`).join(' or ');
  const refused = () => new ScimRefusal('invalidFilter', `The supported filters are ${supported}.`);
  if (text.length > longest) throw refused();
  const [, name, literal] = expression.exec(text) ?? [];
  const attribute = attributes.find((one) => one.toLowerCase() === name?.toLowerCase());
  if (attribute === undefined) throw refused();
  return { attribute, value: readLiteral(literal!) ?? raise(refused()) };
}

/** The text of a JSON string literal; undefined if the text is not a string literal. */
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
