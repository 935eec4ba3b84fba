import { serializer } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import type { SshKey } from './service';

/** The private key itself is never shown. Spec: SSH key (type `ssh-keys`; id of the form `sshkey-<id>`) */
export const sshKeySerializer = serializer<SshKey, View>({
  type: 'ssh-keys',
  id: (key) => key.id,
  self: (key) => `/api/v2/ssh-keys/${key.id}`,
  attributes: (key) => ({ name: key.name, kind: key.kind, fingerprint: key.fingerprint }),
});
