import { choice, flag, hasOne, instant, text, timestamps, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { accountOf } from '../../runs/runs/serializer';
import type { ToolRun } from '../../runs/runs/tool-runs/tool-run';
import { variableAttributes } from '../../workspaces/variables/attributes';
import type { Variable } from '../../workspaces/variables/variable';

/** A module's tests, with the link to their log. */
export interface TestRun extends ToolRun {
  readonly logUrl: string;
}

/** A module's tests and their results. */
export const testRunSerializer = serializerOf<TestRun>()({
  type: 'test-runs',
  shape: {
    status: choice(['queued', 'running', 'errored', 'canceled', 'finished']),
    'status-timestamps': timestamps,
    'test-status': choice(['pending', 'skip', 'pass', 'fail', 'error']),
    'tests-passed': whole,
    'tests-failed': whole,
    'tests-errored': whole,
    'tests-skipped': whole,
    'error-message': text.nullable(),
    'log-read-url': text,
    'created-at': instant,
    source: text,
    filters: z.array(text),
    'test-directory': text.nullable(),
    verbose: flag,
    parallelism: whole.nullable(),
  },
  relations: {
    'configuration-version': hasOne('configuration-versions'),
    'registry-module': hasOne('registry-modules'),
    'registry-module-version': hasOne('registry-module-versions'),
    'created-by': hasOne('users'),
    'canceled-by': hasOne('users'),
  },
  id: ({ id }) => id,
  attributes: (run) => ({
    status: run.status,
    'status-timestamps': run.timestamps,
    'test-status': run.results?.status ?? (run.finishedAt === null ? 'pending' : 'error'),
    'tests-passed': run.results?.passed ?? 0,
    'tests-failed': run.results?.failed ?? 0,
    'tests-errored': run.results?.errored ?? 0,
    'tests-skipped': run.results?.skipped ?? 0,
    'error-message': run.errorMessage,
    'log-read-url': run.logUrl,
    'created-at': run.createdAt,
    source: run.source,
    filters: [...(run.settings.filters ?? [])],
    'test-directory': run.settings.testDirectory ?? null,
    verbose: run.settings.verbose === true,
    parallelism: run.settings.parallelism ?? null,
  }),
  relationships: (run) => ({
    'configuration-version': toOne('configuration-versions', run.configurationVersionId),
    'registry-module': toOne('registry-modules', run.moduleId),
    'registry-module-version': toOne('registry-module-versions', run.moduleVersionId),
    'created-by': accountOf(run.createdByType, run.createdById),
    'canceled-by': accountOf(run.canceledByType, run.canceledById),
  }),
});

/** A variable of the tests of a module; sensitive values are never shown. */
export const testVariableSerializer = serializerOf<Variable>()({
  type: 'vars',
  shape: variableAttributes.shape,
  relations: { 'registry-module': hasOne('registry-modules') },
  id: ({ id }) => id,
  attributes: variableAttributes.show,
  relationships: ({ moduleId }) => ({ 'registry-module': toOne('registry-modules', moduleId) }),
});
