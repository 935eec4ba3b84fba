import { Refusal } from '@keystead/refusal';
import { configuration } from '../../sdk/collection';
import { bool, int } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const fields = recordFields({
  disable_binding: [bool().describe('Allow token renewals without the client certificate of the login.'), false],
  enable_identity_alias_metadata: [bool().describe('Also store the metadata of the certificate on the alias.'), false],
  ocsp_cache_size: [
    int().describe('Maximum number of OCSP responses that each node caches. Each is cached while it is valid.'),
    100,
  ],
});
/** The stored settings of the mount. */
export type CertConfig = typeof fields.defaults;
const config = configuration('config', fields.input);

const mostAnswers = 100_000;

/** The settings of the mount. */
export async function findConfig(storage: Storage): Promise<CertConfig & { readonly generation: string }> {
  const { value, generation } = await config.inForce(storage);
  return { ...fields.defaults, ...value, generation };
}

const absent = 'Not supported: refused.';

/** The settings of the mount. */
export const configPath = path('config', {
  summary: 'Settings for all roles of this method.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration.',
    output: fields.output,
    run: async ({ storage }) => data({ ...fields.defaults, ...(await config.find(storage)) }),
  },
  write: {
    summary: 'Configure the method; omitted fields keep their values.',
    update: 'merge',
    defaults: fields.defaults,
    input: fields.input.extend({
      role_cache_size: int().optional().describe(absent),
      enable_metadata_on_failures: bool().optional().describe(absent),
    }),
    run({ input, storage }) {
      const { role_cache_size: cache, enable_metadata_on_failures: withMetadata, ...settings } = input;
      if (cache !== undefined) throw unsupported('role_cache_size');
      if (withMetadata) throw unsupported('enable_metadata_on_failures');
      if (settings.ocsp_cache_size < 2 || settings.ocsp_cache_size > mostAnswers) {
        throw new Refusal('invalid', `invalid cache size, must be >= 2 and <= ${mostAnswers}`);
      }
      config.put(storage, settings);
      return empty;
    },
  },
});

const unsupported = (name: string): Refusal => new Refusal('invalid', `${name} is not supported`);
