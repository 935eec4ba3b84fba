import { document, writeOnly } from '@keystead/jsonapi';
import { z } from 'zod';
import { isIdOf } from '../../../kernel/database/ids';

const username = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'may only contain letters, numbers, dashes, underscores and dots')
  .refine((name) => !isIdOf('user', name), 'must not look like the id of a user');

/** Name and address of a person in a request. */
export const personAttributes = { username, email: z.email().max(254) };

export const UpdateAccount = document('users', {
  attributes: { username: username.optional(), email: personAttributes.email.optional() },
});

const password = writeOnly(z.string().max(1024));

// Existing clients spell these three attributes with underscores.
export const ChangePassword = document('users', {
  attributes: {
    current_password: password,
    password,
    password_confirmation: password,
  },
});
