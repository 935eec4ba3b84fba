import { randomInt } from 'node:crypto';
import type { MountView } from '../../sdk/call';

/** Generates passwords by the password policies of a mount's namespace. */
export interface PasswordPolicies {
  /** Throws `invalid` if the namespace has no such policy. */
  generate(mount: Pick<MountView, 'uuid'>, policy: string): Promise<string>;
}

const length = 20;
const classes = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789', '-'] as const;
const all = classes.join('');

/** The default password: 20 characters, with at least one of each class and no leading dash. */
export function usualPassword(): string {
  for (;;) {
    const password = Array.from({ length }, () => all[randomInt(all.length)]).join('');
    const has = (characters: string) => [...characters].some((one) => password.includes(one));
    if (!password.startsWith('-') && classes.every(has)) return password;
  }
}
