import { path } from '../../sdk/path';
import { data, empty, missing } from '../../sdk/reply';
import { checkTerms, rotationFields, rotationOutput, shownRotation } from '../../sdk/rotation-plan';
import { root } from './config-root';
import { plan, replan } from './root-plan';

/**
 * The schedule of root key rotation. This is a separate endpoint, because writing the whole configuration requires the
 * key, which no one knows after a rotation. Decision 0023.
 */
export const rootRotationPath = path('config/root/rotation', {
  summary: 'Automatic rotation of the root key.',
  stored: async ({ storage }) => {
    const config = await root.find(storage);
    return config && { ...rotationFields.defaults, ...pick(config) };
  },
  read: {
    summary: 'Read the rotation settings and the result of the last rotation.',
    output: rotationOutput,
    async run({ storage }) {
      const config = await root.find(storage);
      return config
        ? data(shownRotation({ ...rotationFields.defaults, ...pick(config) }, await plan.find(storage)))
        : missing;
    },
  },
  write: {
    summary: 'Change some fields; omitted fields keep their values.',
    update: 'merge',
    defaults: rotationFields.defaults,
    input: rotationFields.input,
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

function pick(config: Record<string, unknown>): Partial<typeof rotationFields.defaults> {
  const setFields = Object.keys(rotationFields.defaults).filter((field) => config[field] !== undefined);
  return Object.fromEntries(setFields.map((field) => [field, config[field]]));
}
