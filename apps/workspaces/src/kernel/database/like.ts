/** Escapes a string for use in a LIKE pattern. */
export const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** A LIKE pattern for values that contain the text. */
export const containing = (text: string): string => `%${literally(text)}%`;

/** Conditions on text, ignoring case. Prisma treats `%` and `_` in a value as wildcards, even in `equals`. */
export const sameText = (text: string) => ({ equals: literally(text), mode: 'insensitive' as const });
export const partOfText = (text: string) => ({ contains: literally(text), mode: 'insensitive' as const });
