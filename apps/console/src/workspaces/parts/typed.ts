/** Splits typed words at spaces, commas and line breaks. */
export const typedWords = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** A typed text: null if it is empty. */
export const typedText = (text: string): string | null => (text.trim() === '' ? null : text.trim());

/** The typed lines, without empty ones. */
export const typedLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Parses variables as in a `.tfvars` file, `name = expression` on each line; undefined if a line is invalid. */
export function typedValues(text: string): { key: string; value: string }[] | undefined {
  const values = typedLines(text).map((line) => /^([A-Za-z_][\w-]*)\s*=\s*(.+)$/.exec(line));
  if (values.includes(null)) return undefined;
  return values.map((match) => ({ key: match![1]!, value: match![2]! }));
}
