/**
 * A user's text as the cell of a table in a comment: it formats nothing, and mentions no person or item that the host would notify
 * (`@person`, `#12`, `!12`).
 */
export const cellText = (text: string): string =>
  text
    .replace(/[|\r\n]+/g, ' ')
    .replace(/[<>`\\[\]]/g, '\\$&')
    .replace(/[@#!](?=[\w\p{L}-])/gu, '$&\u200b');
