import { Badge, type Tone } from '../../design/badge';

const words: ReadonlyMap<string, readonly [Tone, string]> = new Map(
  Object.entries({
    pending: ['plain', 'pending'],
    plan_queued: ['plain', 'plan queued'],
    planning: ['accent', 'planning'],
    planned: ['amber', 'needs confirmation'],
    cost_estimated: ['amber', 'needs confirmation'],
    policy_checked: ['amber', 'needs confirmation'],
    pre_plan_running: ['accent', 'run tasks'],
    post_plan_running: ['accent', 'run tasks'],
    pre_apply_running: ['accent', 'run tasks'],
    pre_plan_awaiting_decision: ['amber', 'needs a decision'],
    post_plan_awaiting_decision: ['amber', 'needs a decision'],
    pre_apply_awaiting_decision: ['amber', 'needs a decision'],
    post_plan_completed: ['amber', 'needs confirmation'],
    confirmed: ['plain', 'confirmed'],
    apply_queued: ['plain', 'apply queued'],
    applying: ['accent', 'applying'],
    applied: ['green', 'applied'],
    planned_and_finished: ['green', 'planned and finished'],
    planned_and_saved: ['violet', 'plan saved'],
    errored: ['red', 'errored'],
    canceled: ['plain', 'canceled'],
    discarded: ['plain', 'discarded'],
    running: ['accent', 'running'],
    queued: ['plain', 'queued'],
    finished: ['green', 'finished'],
    passed: ['green', 'passed'],
    failed: ['red', 'failed'],
    unreachable: ['plain', 'not reached'],
    finalized: ['green', 'finalized'],
    ok: ['green', 'published'],
    ready: ['green', 'ready'],
    overridden: ['amber', 'overridden'],
    awaiting_override: ['amber', 'needs a decision'],
    deprecated: ['amber', 'deprecated'],
    clone_failed: ['red', 'could not be fetched'],
    reg_ingress_failed: ['red', 'could not be read'],
    setup_failed: ['red', 'could not be read'],
    no_version_tags: ['plain', 'no version tags'],
  }),
);

/** The status of a run, a phase or a state version, in standard terms. */
export function Status({ status }: { readonly status: string }) {
  const [tone, text] = words.get(status) ?? ['plain', status.replace(/_/g, ' ')];
  return <Badge tone={tone}>{text}</Badge>;
}

/** Statuses that belong together, as filters take them. */
export const statusGroups = {
  attention:
    'planned,cost_estimated,policy_checked,post_plan_completed,pre_plan_awaiting_decision,post_plan_awaiting_decision,pre_apply_awaiting_decision',
  running: 'planning,applying,pre_plan_running,post_plan_running,pre_apply_running',
  errored: 'errored',
} as const;

/** Statuses that runs can be filtered by, in plain words. */
export const statusOptions = [
  { value: '', label: 'Any status' },
  { value: statusGroups.attention, label: 'needs confirmation' },
  { value: 'pending,plan_queued,confirmed,apply_queued', label: 'waiting' },
  { value: statusGroups.running, label: 'running' },
  { value: 'applied', label: 'applied' },
  { value: 'planned_and_finished', label: 'planned and finished' },
  { value: 'planned_and_saved', label: 'plan saved' },
  { value: statusGroups.errored, label: 'errored' },
  { value: 'canceled', label: 'canceled' },
  { value: 'discarded', label: 'discarded' },
];
