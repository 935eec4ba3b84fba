import type { TreeItem } from './policy-tree';

/** Text that parses but is invalid; the parser adds the prefix that clients expect. */
export class PolicyMeaningError extends Error {
  override readonly name = 'PolicyMeaningError';
}

/** The message about unknown keys, in the form that clients expect. */
export function invalidKeys(prefix: string, items: readonly TreeItem[]): PolicyMeaningError {
  const lines = items.map((item) => `\t* ${prefix}invalid key ${quoted(item.keys[0]!)} on line ${item.at.line}`);
  const count = items.length === 1 ? '1 error occurred' : `${items.length} errors occurred`;
  return new PolicyMeaningError(`${count}:\n${lines.join('\n')}\n\n`);
}

/** A name in quotes, truncated if it is too long. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 128 ? `${name.slice(0, 128)}…` : name);
}
