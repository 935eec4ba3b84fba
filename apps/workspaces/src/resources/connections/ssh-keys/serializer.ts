import { serializer, text } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { SshKey } from './service';

const sshKeyAttributes = {
  name: text,
  kind: text,
  fingerprint: text.nullable(),
};

/** The private key itself is never shown. Spec: SSH key (type `ssh-keys`; id of the form `sshkey-<id>`) */
export const sshKeySerializer = serializer<SshKey, View, typeof sshKeyAttributes>({
  type: 'ssh-keys',
  shape: sshKeyAttributes,
  id: (key) => key.id,
  self: (key) => `/api/v2/ssh-keys/${key.id}`,
  attributes: (key) => ({ name: key.name, kind: key.kind, fingerprint: key.fingerprint }),
});
