import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { duration } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const Lease = z.object({
  ttl: duration().describe('Lifetime of credentials before they must be renewed. 0: the default of the mount.'),
  max_ttl: duration().describe('Maximum lifetime of credentials with renewals. 0: the maximum of the mount.'),
});
const lease = single('config/lease', Lease);

/** The configured lifetimes, zero if none are configured. */
export async function leaseTimes(storage: Storage): Promise<z.output<typeof Lease>> {
  return (await lease.find(storage)) ?? { ttl: 0, max_ttl: 0 };
}

/** Lifetimes of the credentials. Spec: Job-scheduler engine (Lease configuration). */
export const leasePath = path('config/lease', {
  summary: 'Lifetimes of the credentials issued by this engine.',
  spec: 'Job-scheduler engine',
  read: {
    summary: 'Read the lifetimes, in seconds.',
    output: z.object({ max_ttl: z.number(), ttl: z.number() }),
    async run({ storage }) {
      const found = await lease.find(storage);
      return found ? data({ max_ttl: found.max_ttl, ttl: found.ttl }) : missing;
    },
  },
  write: {
    summary: 'Set both lifetimes. An omitted one becomes 0.',
    update: 'replace',
    defaults: { ttl: 0, max_ttl: 0 },
    input: Lease,
    run({ input, storage }) {
      if (input.max_ttl > 0 && input.ttl > input.max_ttl) {
        throw new Refusal('invalid', "'ttl' cannot be greater than 'max_ttl'");
      }
      lease.put(storage, input);
      return empty;
    },
  },
  delete: {
    summary: 'Reset the lifetimes to those of the mount.',
    run({ storage }) {
      lease.delete(storage);
      return empty;
    },
  },
});
