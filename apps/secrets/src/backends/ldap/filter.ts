import { Refusal } from '@keystead/refusal';

/**
 * A string as part of a search filter (RFC 4515); it cannot end its comparison or start another. Special ASCII
 * characters are escaped as bytes. Other letters are not escaped, because the client library treats each escaped byte
 * as a letter.
 */
export function filterText(text: string): string {
  return text.replace(/[\0-,/:-?[-^`{-\x7f]/g, (sign) => `\\${sign.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/**
 * A name in the form in which directories compare names: without case, accents, width, blanks and invisible characters.
 * Two users may have the same name in this form, so this form is used only to count wrong passwords.
 */
export const foldedName = (name: string): string =>
  // `ß` has no single capital letter: only the two steps together fold it.
  name
    .normalize('NFKD')
    .replace(/[\p{M}\s\p{Default_Ignorable_Code_Point}]/gu, '')
    .toUpperCase()
    .toLowerCase();

/** A string as a value in a DN (RFC 4514): nothing in it can end that value. */
export function nameText(text: string): string {
  return text
    .replace(/[",+;<>\\=#\u0000-\u001f\u007f]/g, (sign) => `\\${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replace(/^ | $/g, '\\20');
}

const slot = /\{\{-?\s*\.(\w+)\s*-?\}\}/g;

/** Refuses a template with names other than `names`. */
export function checkTemplate(field: string, template: string, names: readonly string[]): void {
  for (const [, name] of template.matchAll(slot)) {
    if (!names.includes(name!)) refuse(field, `{{.${name}}} is unknown`, names);
  }
  if (/\{\{|\}\}/.test(template.replace(slot, ''))) refuse(field, 'only names are allowed in braces', names);
}

/** Fills a template; the values must be escaped already. */
export function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(slot, (_all, name: string) => values[name] ?? '');
}

function refuse(field: string, why: string, names: readonly string[]): never {
  const allowedNames = names.map((name) => `{{.${name}}}`).join(', ');
  throw new Refusal('invalid', `${field}: ${why}; use ${allowedNames}`);
}
