/**
 * A user's text as the cell of a table in a comment: it formats nothing, and mentions no person or item that the host
 * would notify (`@person`, `#12`, `!12`, `%3`, `~label`, `&5`), even if the text spells the mention with entities.
 */
export const cellText = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/[|\r\n]+/g, ' ')
    .replace(/[<>`\\[\]]/g, '\\$&')
    .replace(/(?:[@#!%~]|&amp;)(?=[\p{Default_Ignorable_Code_Point}\w\p{L}"-])/gu, '$&\u200b');
