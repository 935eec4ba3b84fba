/** Escapes a string for use in a LIKE pattern. */
export const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** A LIKE pattern for values that contain the text. */
export const containing = (text: string): string => `%${literally(text)}%`;
