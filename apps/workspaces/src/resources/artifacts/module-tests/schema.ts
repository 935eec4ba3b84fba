import { document, one, type ParsedDocument, requiredOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { runVariables } from '../../runs/runs/schema';

// The paths become arguments of the tool.
const path = z
  .string()
  .max(512)
  .regex(/^[^\p{Cc}]*$/u, 'must be paths without control characters');

const inside = 'must be a folder of the configuration';

/** New tests of a module. */
export const CreateTestRun = document('test-runs', {
  attributes: {
    filters: z.array(path.min(1)).max(100).nullish(),
    'test-directory': path.refine((text) => !text.split('/').includes('..') && !/^[-/]/.test(text), inside).nullish(),
    verbose: z.boolean().nullish(),
    parallelism: z.number().int().min(1).max(256).nullish(),
    variables: runVariables,
  },
  relationships: {
    'configuration-version': requiredOne('configuration-versions'),
    'registry-module': one('registry-modules'),
  },
});
export type NewTestRun = ParsedDocument<typeof CreateTestRun>;
