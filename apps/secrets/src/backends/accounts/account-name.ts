import { parseTemplate, type TemplateError } from '../../sdk/go-template';
import { refuse } from '../../sdk/refuse';

const usual =
  '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 8) (.RoleName | truncate 8) (unix_time) (random 24) | truncate 62 | lowercase }}';
const fieldNames = ['DisplayName', 'RoleName'];
const longest = 63;
const longestField = 256;

function nameFrom(template: string, who: { DisplayName: string; RoleName: string }, nowMs: number): string {
  const problem = (error: unknown): never =>
    refuse(`unable to initialize name template: ${(error as TemplateError).message}`);
  try {
    return parseTemplate(template || usual, fieldNames)(who, { nowMs });
  } catch (error) {
    return problem(error);
  }
}

/** Refuses an invalid template. */
export function checkTemplate(template: string): void {
  if (template !== '') nameFrom(template, { DisplayName: 'a', RoleName: 'b' }, 0);
}

/** The name for new objects. Throws `invalid` if the template gives a name that clusters refuse. */
export function accountName(template: string, displayName: string, roleName: string, nowMs: number): string {
  const plain = (text: string) =>
    text
      .slice(0, longestField)
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, '-');
  const name = nameFrom(template, { DisplayName: plain(displayName), RoleName: plain(roleName) }, nowMs).replace(
    /(?<!-)-+$/,
    '',
  );
  if (name.length > longest || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    refuse(
      `the name template gives ${JSON.stringify(name)}: names have at most ${longest} lower-case letters, digits and -`,
    );
  }
  return name;
}
