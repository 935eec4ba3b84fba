/**
 * A user's text as the cell of a table in a comment. It contains no formatting, and no mention of a person or item that
 * the host would notify (`@person`, `#12`, `!12`, `%3`, `~label`, `&5`), even if the text writes the mention with
 * entities.
 */
export const cellText = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/[|\r\n]+/g, ' ')
    .replace(/[<>`\\[\]]/g, '\\$&')
    .replace(/(?:[@#!%~]|&amp;)(?=[\p{Default_Ignorable_Code_Point}\w\p{L}"-])/gu, '$&\u200b');
