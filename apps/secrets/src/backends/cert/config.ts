import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { configuration } from '../../sdk/collection';
import { bool, int } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const Stored = z.object({
  disable_binding: bool().describe('Renew without the certificate that was shown at login.'),
  enable_identity_alias_metadata: bool().describe('Keep what is told of the certificate with the alias as well.'),
  ocsp_cache_size: int().describe('So many OCSP answers are remembered by each node, until the time that they say.'),
});
/** What holds for the whole mount, as stored. */
export type CertConfig = z.output<typeof Stored>;
const config = configuration('config', Stored);

const mostAnswers = 100_000;

const defaults: CertConfig = { disable_binding: false, enable_identity_alias_metadata: false, ocsp_cache_size: 100 };

/** What holds for the whole mount. */
export async function findConfig(storage: Storage): Promise<CertConfig & { readonly generation: string }> {
  const { value, generation } = await config.inForce(storage);
  return { ...defaults, ...value, generation };
}

const absent = 'Not supported: refused.';

/** What holds for the whole mount. */
export const configPath = path('config', {
  summary: 'What holds for all roles of this method.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration.',
    output: z.object({
      disable_binding: z.boolean(),
      enable_identity_alias_metadata: z.boolean(),
      ocsp_cache_size: z.int(),
    }),
    run: async ({ storage }) => data({ ...defaults, ...(await config.find(storage)) }),
  },
  write: {
    summary: 'Configure the method; what is not named stays.',
    update: 'merge',
    defaults,
    input: Stored.extend({
      role_cache_size: int().optional().describe(absent),
      enable_metadata_on_failures: bool().optional().describe(absent),
    }),
    run({ input, storage }) {
      const { role_cache_size: cache, enable_metadata_on_failures: told, ...given } = input;
      if (cache !== undefined) throw unsupported('role_cache_size');
      if (told) throw unsupported('enable_metadata_on_failures');
      if (given.ocsp_cache_size < 2 || given.ocsp_cache_size > mostAnswers) {
        throw new Refusal('invalid', `invalid cache size, must be >= 2 and <= ${mostAnswers}`);
      }
      config.put(storage, given);
      return empty;
    },
  },
});

const unsupported = (name: string): Refusal => new Refusal('invalid', `${name} is not supported`);
