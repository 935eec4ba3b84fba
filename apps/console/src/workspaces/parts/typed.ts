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
