import { type Backend, backend } from '../../sdk/backend';
import { accessInForce, accessPath } from './config-access';
import { leasePath, leaseTimes } from './config-lease';
import { credsPath } from './creds';
import { roleListPath, rolePath } from './role';
import type { Scheduler } from './scheduler';

/** Tokens of a job scheduler, created from roles and revoked with their leases. Spec: Job-scheduler engine. */
export const scheduler = (outside: Scheduler): Backend =>
  backend({
    type: 'scheduler',
    outside: true,
    kind: 'secret',
    summary: 'Generates job-scheduler tokens from roles.',
    paths: [accessPath(outside), leasePath, roleListPath, rolePath, credsPath(outside)],
    secrets: {
      token: {
        async revoke(internal, { storage }) {
          const access = await accessInForce(storage, outside.defaults);
          await outside.client(access).deleteToken(String(internal.accessor_id));
        },
        async renew(_internal, { storage }) {
          const { ttl, max_ttl } = await leaseTimes(storage);
          return { ttlSeconds: ttl, maxTtlSeconds: max_ttl };
        },
      },
    },
    undo: {
      // The response may never have arrived, so the token can only be found by its unique name.
      async token(undo, { storage }) {
        const client = outside.client(await accessInForce(storage, outside.defaults));
        for (const accessor of await client.accessorsNamed(String(undo.name))) await client.deleteToken(accessor);
      },
    },
  });
