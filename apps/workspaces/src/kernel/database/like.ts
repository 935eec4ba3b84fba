/** A text without its meaning in a pattern of LIKE. */
export const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** A pattern of LIKE for what has the text in it. */
export const containing = (text: string): string => `%${literally(text)}%`;
