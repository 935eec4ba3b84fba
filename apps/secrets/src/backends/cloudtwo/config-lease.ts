import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { Failure, toText } from '../../sdk/coerce';
import { single } from '../../sdk/collection';
import { durationText, parseDuration } from '../../sdk/duration';
import { field } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const Lease = z.object({ lease: z.number(), lease_max: z.number() });
const lease = single('config/lease', Lease);

/** The configured lifetimes in seconds; zero means the lifetimes of the mount. */
export async function leaseTimes(storage: Storage): Promise<z.output<typeof Lease>> {
  return (await lease.find(storage)) ?? { lease: 0, lease_max: 0 };
}

const leaseTime = (name: string) =>
  field({ type: 'string' }, (value) => {
    const text = toText(value);
    if (text instanceof Failure) return text;
    const found = text === '' ? 0 : text.includes('d') ? undefined : parseDuration(text);
    if (found === undefined) return new Failure(`Invalid ${name}: time: invalid duration "${text}"`, true);
    return text !== '' && found <= 0 ? new Failure(`Invalid ${name}: it must be positive`, true) : found;
  });

/** Lifetimes of user credentials. Spec: Cloud-provider engine (Lease configuration). */
export const leasePath = path('config/lease', {
  summary: 'Lifetimes of the user credentials issued by this engine.',
  spec: 'Cloud-provider engine',
  read: {
    summary: 'Read the lifetimes as duration strings.',
    output: z.object({ lease: z.string(), lease_max: z.string() }),
    async run({ storage }) {
      const found = await lease.find(storage);
      if (!found) return missing;
      return data({ lease: durationText(found.lease), lease_max: durationText(found.lease_max) });
    },
  },
  write: {
    summary: 'Set both lifetimes.',
    update: 'replace',
    defaults: { lease: 0, lease_max: 0 },
    input: z.object({
      lease: leaseTime('lease').describe('Lifetime of a lease before renewal, such as 30m. The largest unit is h.'),
      lease_max: leaseTime('lease_max').describe('Maximum lifetime of a lease with renewals. The largest unit is h.'),
    }),
    run({ input, storage }) {
      for (const name of ['lease', 'lease_max'] as const) {
        if (input[name] === 0) throw new Refusal('invalid', `'${name}' is a required parameter`);
      }
      if (input.lease > input.lease_max) throw new Refusal('invalid', "'lease' cannot be greater than 'lease_max'");
      lease.put(storage, input);
      return empty;
    },
  },
});
