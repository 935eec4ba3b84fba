import { RE2JS } from 're2js';

/** Why an expression for version tags cannot be used; undefined when it can. The syntax knows no backtracking. */
export function requireRegex(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch {
    return 'is not a valid regular expression';
  }
}
