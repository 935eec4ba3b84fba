import { text } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { SshKey } from './service';

/** The private key itself is never shown. Spec: SSH key (type `ssh-keys`; id of the form `sshkey-<id>`) */
export const sshKeySerializer = serializerOf<SshKey>()({
  type: 'ssh-keys',
  shape: {
    name: text,
    kind: text,
    fingerprint: text.nullable(),
  },
  id: (key) => key.id,
  self: (key) => `/api/v2/ssh-keys/${key.id}`,
  attributes: (key) => ({ name: key.name, kind: key.kind, fingerprint: key.fingerprint }),
});
