import { z } from 'zod';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty } from '../../sdk/reply';
import { timeText } from '../../sdk/time-text';
import { autoTidy, cancelTidy, findTidy, startTidy, type TidyState } from './tidy-run';
import { autoTidyFields, checkPlan, choicesText, hasWork, planOf, tidyFields } from './tidy-settings';

const unset = Object.fromEntries(Object.keys(tidyFields.defaults).map((name) => [name, null]));

const counts = (state: TidyState) => ({
  cert_store_deleted_count: state.removed,
  revoked_cert_deleted_count: state.removedRevoked,
  missing_issuer_cert_count: state.associated,
  acme_orders_deleted_count: state.orders ?? 0,
  total_acme_account_count: state.accountsSeen ?? 0,
  acme_account_deleted_count: state.accounts ?? 0,
  // Unused accounts are deleted directly, not revoked first.
  acme_account_revoked_count: 0,
});
const count = z.int().nullable();
const countsOutput = {
  cert_store_deleted_count: count,
  revoked_cert_deleted_count: count,
  missing_issuer_cert_count: count,
  acme_orders_deleted_count: count,
  total_acme_account_count: count,
  acme_account_deleted_count: count,
  acme_account_revoked_count: count,
};
const uncounted = Object.fromEntries(Object.keys(countsOutput).map((name) => [name, null]));

function show(state: TidyState | undefined, mount: string) {
  return {
    ...(state?.plan ?? unset),
    state: state?.state ?? 'Inactive',
    error: null,
    message: state?.state === 'Running' ? 'Tidying certificate store' : null,
    time_started: timeText(state?.startedAtMs),
    time_finished: timeText(state?.finishedAtMs),
    ...(state ? counts(state) : uncounted),
    current_cert_store_count: null,
    current_revoked_cert_count: null,
    internal_backend_uuid: mount,
    ...(state && { last_auto_tidy_finished: timeText(state.finishedAtMs ?? state.startedAtMs) }),
  };
}

const statusOutput = z.object({
  ...Object.fromEntries(Object.entries(tidyFields.output.shape).map(([name, type]) => [name, type.nullable()])),
  state: z.string(),
  error: z.null(),
  message: z.string().nullable(),
  time_started: z.string().nullable(),
  time_finished: z.string().nullable(),
  ...countsOutput,
  current_cert_store_count: z.null(),
  current_revoked_cert_count: z.null(),
  last_auto_tidy_finished: z.string().nullable().optional(),
  internal_backend_uuid: z.string(),
});

const noWork = (request: string) =>
  `${request} but no tidy operations were ${request.startsWith('Auto') ? 'requested' : 'set'}. Enable at least one tidy operation to be run (${choicesText}).`;

/** Tidy and auto-tidy. */
export const tidyPaths = [
  path('tidy', {
    summary: 'Tidies: removes expired certificates.',
    write: {
      summary: 'Start a tidy operation.',
      operationId: 'tidy',
      status: 202,
      input: tidyFields.input.partial(),
      async run({ input, storage, nowMs, warn }) {
        const plan = planOf(input);
        checkPlan(plan);
        if (!hasWork(plan)) warn(noWork('Manual tidy requested'));
        else if (await startTidy(storage, nowMs, plan)) {
          warn('Tidy operation successfully started. tidy-status shows its progress.');
        } else warn('Tidy operation already in progress.');
        return data(null);
      },
    },
  }),
  path('tidy-status', {
    summary: 'The status of the tidy operation.',
    read: {
      summary: 'Read the status of the tidy operation.',
      operationId: 'tidy-status',
      output: statusOutput,
      run: async ({ storage, mount }) => data(show(await findTidy(storage), mount.uuid)),
    },
  }),
  path('tidy-cancel', {
    summary: 'Cancels the tidy operation.',
    write: {
      summary: 'Cancel the tidy operation after the current page.',
      operationId: 'tidy-cancel',
      output: statusOutput,
      async run({ storage, mount, warn }) {
        if (!(await cancelTidy(storage))) {
          warn('Tidy operation cannot be cancelled as none is currently running.');
          return empty;
        }
        return data(show(await findTidy(storage), mount.uuid));
      },
    },
  }),
  path('config/auto-tidy', {
    summary: 'The configuration of automatic tidying.',
    stored: ({ storage }) => autoTidy.find(storage),
    read: {
      summary: 'Read the configuration of automatic tidying.',
      operationId: 'read-auto-tidy-configuration',
      output: autoTidyFields.output,
      run: async ({ storage }) => data((await autoTidy.find(storage)) ?? autoTidyFields.defaults),
    },
    write: {
      summary: 'Change the configuration of automatic tidying.',
      operationId: 'configure-auto-tidy',
      update: 'merge',
      defaults: autoTidyFields.defaults,
      input: autoTidyFields.input,
      output: autoTidyFields.output,
      run({ input, storage }) {
        checkPlan(input);
        if (input.enabled && !hasWork(input)) refuse(noWork('Auto-tidy enabled'));
        autoTidy.put(storage, input);
        return data(input);
      },
    },
  }),
];
