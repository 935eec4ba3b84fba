import { equalSecrets } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { LinkHolder } from './current-access';

const prefix = 'run.';

const macOf = (keyring: Keyring, id: string): string => keyring.mac('run-token', id).toString('base64url');

/**
 * The token of a running job. It is not stored, and ends with the job or when another worker takes the job. Decision
 * 0268.
 */
export function runToken(keyring: Keyring, { id, attempt }: { readonly id: string; readonly attempt: number }): string {
  const holder = `${id}~${attempt}`;
  return `${prefix}${holder}.${macOf(keyring, holder)}`;
}

/**
 * The job to which a token belongs; undefined for other kinds of tokens, and for tokens that this service did not
 * create.
 */
export function holderOfRunToken(keyring: Keyring, token: string): LinkHolder | undefined {
  if (!token.startsWith(prefix)) return undefined;
  const [id = '', mac = ''] = token.slice(prefix.length).split('.');
  return equalSecrets(mac, macOf(keyring, id)) ? { kind: 'run', id } : undefined;
}
