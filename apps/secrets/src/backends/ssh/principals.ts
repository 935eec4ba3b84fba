import type { Call } from '../../sdk/call';
import { refuse } from '../../sdk/refuse';
import { listed, type SshRole } from './role';

type Filling = Pick<Call, 'filled'>;

/** Characters that are invisible, end a line or change text direction: not allowed in names, options and key ids. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/u;
/** White space other than a space: not allowed in names. */
const blank = /[^\S ]/u;

/** Refuses a string with invisible characters. */
export function checkVisible(text: string, what: string): void {
  if (hidden.test(text)) refuse(`${what} contains a control character or another invisible character`);
}

/** The principals of a certificate. Throws `invalid` if there are none, or the role does not allow one. */
export function principalsOf(
  call: Filling,
  role: SshRole,
  kind: 'user' | 'host',
  requested: string | undefined,
): string[] {
  const isHost = kind === 'host';
  const allowedText = isHost ? role.allowed_domains : role.allowed_users;
  const isTemplate = isHost ? role.allowed_domains_template : role.allowed_users_template;
  const names = listed(requested ?? (isHost ? '' : defaultUser(call, role))).sort();
  if (names.length === 0) {
    if (role.allow_empty_principals) return [];
    refuse(
      'refusing to issue unsafe, globally-valid certificate with no principals specified; set valid_principals or default_user',
    );
  }
  for (const name of names) {
    checkVisible(name, 'valid_principals');
    if (blank.test(name) || (isHost && name.includes(' '))) refuse(`${name} is not a valid value for valid_principals`);
  }
  if (allowedText === '*') return names;
  const allowed = isTemplate
    ? listed(allowedText).flatMap((word) => filledNames(call, role, word))
    : listed(allowedText);
  if (allowed.length === 0) refuse('role is not configured to allow any principals');
  const fits = isHost
    ? (name: string) =>
        allowed.some(
          (domain) =>
            (role.allow_bare_domains && name === domain) || (role.allow_subdomains && name.endsWith(`.${domain}`)),
        )
    : (name: string) => allowed.includes(name);
  const wrong = names.find((name) => !fits(name));
  if (wrong !== undefined) refuse(`${wrong} is not a valid value for valid_principals`);
  return names;
}

/** The default user of a role for this caller; empty if its template has no value. */
function defaultUser(call: Filling, { default_user, default_user_template }: SshRole): string {
  if (!default_user_template) return default_user;
  return call.filled(default_user) ?? '';
}

/** The principals that an allowed entry expands to for this caller; none if its templates have no value. */
function filledNames(call: Filling, role: SshRole, word: string): string[] {
  const filled = call.filled(word);
  if (filled === undefined) return [];
  if (filled === word || role.allow_commas_in_identity_templates) return listed(filled);
  return filled.includes(',')
    ? refuse(`template '${word}' could not be rendered -> its value contains a comma`)
    : [filled];
}
