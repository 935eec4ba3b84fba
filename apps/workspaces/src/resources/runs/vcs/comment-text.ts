/**
 * A text of somebody's as the cell of a table in a comment: it formats nothing, and names nobody and nothing that the host would tell of it
 * (`@person`, `#12`, `!12`).
 */
export const cellText = (text: string): string =>
  text
    .replace(/[|\r\n]+/g, ' ')
    .replace(/[<>`\\[\]]/g, '\\$&')
    .replace(/[@#!](?=[\w\p{L}-])/gu, '$&\u200b');
