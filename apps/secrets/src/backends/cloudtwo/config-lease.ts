import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { durationText, parseDuration } from '../../sdk/duration';
import { string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const Lease = z.object({ lease: z.number(), lease_max: z.number() });
const lease = single('config/lease', Lease);

/** The configured lifetimes in seconds; zero takes those of the mount. */
export async function leaseTimes(storage: Storage): Promise<z.output<typeof Lease>> {
  return (await lease.find(storage)) ?? { lease: 0, lease_max: 0 };
}

/** Lifetimes of user credentials. Spec: Cloud-provider engine (Lease configuration). */
export const leasePath = path('config/lease', {
  summary: 'Lifetimes of the user credentials this engine hands out.',
  spec: 'Cloud-provider engine',
  read: {
    summary: 'Read the lifetimes as duration texts.',
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
    defaults: { lease: '', lease_max: '' },
    input: z.object({
      lease: string().describe('Lifetime before renewal, such as 30m; h is the largest unit.'),
      lease_max: string().describe('Longest lifetime renewals can reach; h is the largest unit.'),
    }),
    run({ input, storage }) {
      const times = { lease: seconds('lease', input.lease), lease_max: seconds('lease_max', input.lease_max) };
      if (times.lease > times.lease_max) throw new Refusal('invalid', "'lease' cannot be greater than 'lease_max'");
      lease.put(storage, times);
      return empty;
    },
  },
});

function seconds(field: string, text: string): number {
  if (text === '') throw new Refusal('invalid', `'${field}' is a required parameter`);
  const found = text.includes('d') ? undefined : parseDuration(text);
  if (found === undefined) throw new Refusal('invalid', `Invalid ${field}: time: invalid duration "${text}"`);
  if (found <= 0) throw new Refusal('invalid', `Invalid ${field}: it must be positive`);
  return found;
}
