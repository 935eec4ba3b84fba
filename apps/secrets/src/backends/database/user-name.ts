import { Refusal } from '@keystead/refusal';
import { parseTemplate, TemplateError } from '../../sdk/go-template';
import { refuse } from '../../sdk/refuse';
import type { Driver } from './driver';

const fieldNames = ['DisplayName', 'RoleName'];
/** Display and role names may be longer than user names. */
const longestField = 1024;

/** Values for the user name template. */
export interface UserNameParts {
  readonly displayName: string;
  readonly role: string;
}

/** Generates a user name from the configured template, or the driver's. Throws `cap-exceeded` if it is too long. */
export function userName(template: string, { names }: Driver, who: UserNameParts, nowMs: number): string {
  const name = filled(template || names.template, who, nowMs);
  if (name instanceof TemplateError || name === '' || name.length > names.longest) {
    const why = name instanceof TemplateError ? name.message : `it has ${name.length} of ${names.longest} characters`;
    throw new Refusal('cap-exceeded', `the user name from username_template cannot be used: ${why}`);
  }
  return name;
}

/** Refuses a template that is invalid or produces an empty name. */
export function checkTemplate(template: string): void {
  const refused = (what: string, { message }: TemplateError) =>
    refuse(`error creating database object: ${what} username template: ${message}`);
  try {
    parseTemplate(template, fieldNames);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    refused('unable to initialize', error);
  }
  const sample = filled(template, { displayName: 'token', role: 'role' }, 0);
  if (sample instanceof TemplateError) refused('invalid', sample);
}

function filled(template: string, who: UserNameParts, nowMs: number): string | TemplateError {
  const field = (text: string) => plain(text.slice(0, longestField));
  try {
    return plain(
      parseTemplate(template, fieldNames)(
        { DisplayName: field(who.displayName), RoleName: field(who.role) },
        { nowMs },
      ),
    );
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
}

/** Replaces characters that have a meaning in statements. */
const plain = (text: string): string => text.replace(/[^A-Za-z0-9_.@+:-]/g, '_');
