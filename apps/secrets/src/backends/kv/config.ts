import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { durationText } from '../../sdk/duration';
import { bool, int, signedDuration } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

const fields = recordFields({
  max_versions: [int().describe('Number of versions to keep per secret. 0: ten.'), 0],
  cas_required: [bool().describe('Writes must include cas.'), false],
  delete_version_after: [signedDuration().describe('Time after which versions are deleted. 0: never.'), 0],
});
/** The mount's defaults for its secrets. */
export type KvConfig = typeof fields.defaults;
const config = single('config', fields.input);

/** The mount's settings for all its secrets; the defaults if none were written. */
export const configOf = async (storage: Storage): Promise<KvConfig> => (await config.find(storage)) ?? fields.defaults;

export const configPath = path('config', {
  summary: 'Settings for all secrets of the mount.',
  stored: ({ storage }) => config.find(storage),
  read: {
    summary: 'Read the configuration of the mount.',
    operationId: 'read-configuration',
    output: fields.output.extend({ delete_version_after: z.string() }),
    auditClear: 'all',
    async run({ storage }) {
      const { cas_required, delete_version_after, max_versions } = await configOf(storage);
      return data({ cas_required, delete_version_after: durationText(delete_version_after), max_versions });
    },
  },
  write: {
    summary: 'Configure the mount.',
    operationId: 'configure',
    input: fields.input,
    update: 'merge',
    defaults: fields.defaults,
    auditClear: 'all',
    run({ storage, input }) {
      if (input.max_versions < 0) throw new Refusal('invalid', 'max_versions must not be negative');
      config.put(storage, input);
      return empty;
    },
  },
});
