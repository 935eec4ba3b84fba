/** Words as typed, with spaces, commas or lines between them. */
export const typedWords = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** A text as typed: null for nothing. */
export const typedText = (text: string): string | null => (text.trim() === '' ? null : text.trim());

/** Lines as typed, without empty ones. */
export const typedLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Values as in a file of variables, `name = expression` on each line; undefined where a line is none. */
export function typedValues(text: string): { key: string; value: string }[] | undefined {
  const values = typedLines(text).map((line) => /^([A-Za-z_][\w-]*)\s*=\s*(.+)$/.exec(line));
  if (values.includes(null)) return undefined;
  return values.map((match) => ({ key: match![1]!, value: match![2]! }));
}
