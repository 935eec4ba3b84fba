import { refuse } from '../../sdk/refuse';
import type { SshPublicKey } from './public-key';
import type { SshRole } from './role';

/** Short names of key types in roles, besides the OpenSSH names. */
const families: ReadonlyMap<string, readonly string[]> = new Map([
  ['rsa', ['rsa']],
  ['ecdsa', ['ecdsa', 'ec']],
  ['ed25519', ['ed25519']],
]);
const sizedNames: readonly string[] = ['rsa', 'ssh-rsa', 'ecdsa', 'ec'];

const sizesIn = ({ allowed_user_key_lengths: rules }: SshRole, names: readonly string[]) =>
  names.flatMap((name) => (Object.hasOwn(rules, name) ? [[name, rules[name] as readonly number[]] as const] : []));

/** Refuses a key whose type or size the role does not allow. */
export function checkKey({ type, family, bits }: SshPublicKey, role: SshRole): void {
  if (Object.keys(role.allowed_user_key_lengths).length === 0) return;
  const problem = (text: string) => refuse(`public_key failed to meet the key requirements: ${text}`);
  const rules = sizesIn(role, [...(families.get(family) ?? []), type]);
  if (rules.length === 0) problem(`key of type ${family} is not allowed`);
  // A name that includes the size allows only that size.
  const fits = rules.some(([name, sizes]) => (sizedNames.includes(name) ? sizes.includes(bits) : sizes.length > 0));
  if (!fits) problem(`key is of an invalid size: ${bits}`);
}

/** Refuses to generate a key whose type or size the role does not allow. */
export function checkAskedKey(role: SshRole, type: string, bits: number): void {
  if (Object.keys(role.allowed_user_key_lengths).length === 0) return;
  const family = [...families].find(([, names]) => names.includes(type))?.[0] ?? type;
  const ofSize = family === 'ecdsa' ? [`ecdsa-sha2-nistp${bits || 256}`] : [];
  const openSsh = family === 'rsa' || family === 'ed25519' ? [`ssh-${family}`] : ofSize;
  const rules = sizesIn(role, [...(families.get(family) ?? []), ...openSsh]);
  if (rules.length === 0) refuse('provided key_type value not in allowed_user_key_types');
  if (!rules.some(([name, sizes]) => ofSize.includes(name) || sizes.includes(bits))) {
    refuse("provided key_bits value not in list of role's allowed_user_key_types");
  }
}
