import { document, label, sentTo } from '@keystead/jsonapi';
import { z } from 'zod';

const name = label(255);
const value = sentTo(z.string().min(1).max(65_536));

// Decision 0010: some clients leave out the type.
/** Spec: SSH keys */
export const CreateSshKey = document('ssh-keys', { untyped: true, attributes: { name, value } });
export const UpdateSshKey = document('ssh-keys', {
  untyped: true,
  attributes: { name: name.optional(), value: value.nullish() },
});
