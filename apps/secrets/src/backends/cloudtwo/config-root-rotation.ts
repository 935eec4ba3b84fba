import { z } from 'zod';
import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import { root } from './config-root';
import { checkTerms, noRotation, plan, replan, rotationFields, rotationOutput, shownRotation } from './rotation-plan';

/**
 * When the root key is replaced, to be read and changed by itself: the configuration as a whole could only be written by
 * who knows the key, and after a rotation nobody does. Decision 0024.
 */
export const rootRotationPath = path('config/root/rotation', {
  summary: 'When the root key is replaced by itself.',
  stored: async ({ storage }) => {
    const config = await root.find(storage);
    return config && { ...noRotation, ...pick(config) };
  },
  read: {
    summary: 'Read the terms of the rotation, and how it went.',
    output: rotationOutput,
    async run({ storage }) {
      const config = await root.find(storage);
      return config ? data(shownRotation({ ...noRotation, ...pick(config) }, await plan.find(storage))) : missing;
    },
  },
  write: {
    summary: 'Change the terms that are named; the rest of the configuration stays.',
    update: 'merge',
    defaults: noRotation,
    input: z.object(rotationFields),
    async run({ input, storage, nowMs }) {
      const config = await root.require(storage, 'no configuration found for config/root');
      checkTerms(input, config.access_key !== '');
      root.put(storage, { ...config, ...input });
      const { rotatedAtMs } = (await plan.find(storage)) ?? {};
      replan(storage, input, nowMs, rotatedAtMs);
      return empty;
    },
  },
});

function pick(config: Record<string, unknown>): Partial<typeof noRotation> {
  const known = Object.keys(noRotation).filter((field) => config[field] !== undefined);
  return Object.fromEntries(known.map((field) => [field, config[field]]));
}
