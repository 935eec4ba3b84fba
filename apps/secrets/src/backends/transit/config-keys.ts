import { z } from 'zod';
import { single } from '../../sdk/collection';
import { bool, int } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const keyFields = recordFields({
  disable_upsert: [bool().describe('Refuse to encrypt with an unknown key, instead of creating the key.'), false],
});
const keyConfig = single('config/keys', keyFields.input);

export const upsertDisabled = async (storage: Storage): Promise<boolean> =>
  (await keyConfig.find(storage))?.disable_upsert ?? false;

/** Settings of all keys of the mount. */
export const keyConfigPath = path('config/keys', {
  summary: 'Settings of all keys of this mount.',
  stored: ({ storage }) => keyConfig.find(storage),
  read: {
    summary: 'Read the settings for all keys.',
    operationId: 'read-keys-configuration',
    output: keyFields.output,
    run: async ({ storage }) => data((await keyConfig.find(storage)) ?? keyFields.defaults),
  },
  write: {
    summary: 'Change the settings for all keys.',
    operationId: 'configure-keys',
    update: 'replace',
    defaults: keyFields.defaults,
    input: keyFields.input,
    output: keyFields.output,
    run({ input, storage }) {
      keyConfig.put(storage, input);
      return data(input);
    },
  },
});

const leastCached = 10;
const cacheFields = recordFields({
  size: [
    int().describe(
      'Accepted and shown for compatibility, without effect: each node limits its own cache. 0 means no limit.',
    ),
    0,
  ],
});
const cacheConfig = single('config/cache', cacheFields.input);

/** The cache settings of older clients. They have no effect, because each node limits its own cache. */
export const cacheConfigPath = path('cache-config', {
  summary: 'The size of the key cache.',
  stored: ({ storage }) => cacheConfig.find(storage),
  read: {
    summary: 'Read the size of the key cache.',
    operationId: 'read-cache-configuration',
    output: z.object({ size: z.int() }),
    run: async ({ storage }) => data((await cacheConfig.find(storage)) ?? cacheFields.defaults),
  },
  write: {
    summary: 'Set the size of the key cache. Has no effect.',
    operationId: 'configure-cache',
    update: 'replace',
    defaults: cacheFields.defaults,
    input: cacheFields.input,
    output: z.object({ size: z.int() }),
    run({ input, storage }) {
      if (input.size !== 0 && input.size < leastCached) {
        refuse(`size must be 0 or a value greater or equal to ${leastCached}`);
      }
      cacheConfig.put(storage, input);
      return data(input);
    },
  },
});
