import { document, writeOnly } from '@keystead/jsonapi';
import { z } from 'zod';
import { personAttributes } from '../users/schema';

const password = writeOnly(z.string().min(1).max(1024));
const code = writeOnly(z.string().min(1).max(64));

export const SignIn = document('sessions', {
  attributes: { username: z.string().min(1).max(254), password, code: code.nullish() },
});

export const BeginTwoFactor = document('two-factor', { attributes: { password } });
export const VerifyCode = document('two-factor', { attributes: { code } });
export const EndTwoFactor = document('two-factor', { attributes: { password } });

export const UseLink = document('one-time-links', {
  attributes: {
    username: personAttributes.username.optional(),
    password: password.optional(),
    'password-confirmation': password.optional(),
  },
  optional: true,
});

/** The address to confirm: the account may have requested another one in the meantime. */
export const ConfirmAddress = document('users', { attributes: { email: personAttributes.email } });

export const NewLoginCode = document('login-codes', {
  attributes: {
    'client-id': z.string().max(100),
    'redirect-uri': z.string().max(1000),
    'code-challenge': z.string().max(128),
  },
});
