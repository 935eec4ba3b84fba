import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Table } from '../../design/table';
import { rule, useChange, useRead } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Opener } from '../parts/opener';
import { Status } from '../parts/states';

type Stage = Resource<'TaskStagesResource'>;
type Evaluation = Resource<'PolicyEvaluationsResource'>;
type SetOutcome = Resource<'PolicySetOutcomesResource'>;
type TaskResult = Resource<'TaskResultsResource'>;

/** The results of policies and run tasks, by stage; nothing is shown if there are none. */
export function RunChecks({ id }: { readonly id: string }) {
  const stages = useRead(['runs', id, 'task-stages'], (api) =>
    api.GET('/api/v2/runs/{run_id}/task-stages', {
      params: { path: { run_id: id }, query: { include: 'task_results,policy_evaluations' } },
    }),
  );
  const included = stages.data?.included ?? [];
  return stages.data?.data.map((stage) => {
    const evaluations = included.flatMap((one) =>
      one.type === 'policy-evaluations' && one.relationships['policy-attachable'].data?.id === stage.id ? [one] : [],
    );
    const results = included.flatMap((one) =>
      one.type === 'task-results' && one.relationships['task-stage'].data?.id === stage.id ? [one] : [],
    );
    return (
      <section key={stage.id} className="stack-tight" aria-label={`Checks: ${nameOf(stage)}`}>
        <div className="row spread">
          <h2>
            {nameOf(stage)} checks <Status status={statusOf(stage, evaluations, results)} />
          </h2>
          {stage.attributes.actions['is-overridable'] ? (
            <Opener
              label="Override"
              kind="danger"
              forbidden={rule(
                stage.attributes.permissions['can-override'],
                evaluations.length > 0 ? 'manage-policy-overrides' : 'manage-run-tasks',
              )}
            >
              {(close) => <Override id={stage.id} onClose={close} />}
            </Opener>
          ) : null}
        </div>
        {evaluations.map((one) => (
          <Policies key={one.id} id={one.id} updatedAt={one.attributes['updated-at']} />
        ))}
        {results.length === 0 ? null : <Tasks results={results} />}
      </section>
    );
  });
}

/** The status of a stage. If it passed although a mandatory check failed, someone has overridden the check. */
function statusOf(
  { attributes: { status } }: Stage,
  evaluations: readonly Evaluation[],
  results: readonly TaskResult[],
): string {
  const isRefused =
    evaluations.some(({ attributes }) => attributes['result-count']['mandatory-failed'] > 0) ||
    results.some(
      ({ attributes }) =>
        attributes['workspace-task-enforcement-level'] === 'mandatory' && attributes.status !== 'passed',
    );
  return status === 'passed' && isRefused ? 'overridden' : status;
}

const nameOf = ({ attributes: { stage } }: Stage): string =>
  stage.replace('_', '-').replace(/^./, (letter) => letter.toUpperCase());

/** The output of the policies of each set, failed ones first. */
function Policies({ id, updatedAt }: { readonly id: string; readonly updatedAt: string }) {
  const sets = useRead(['policy-evaluations', id, updatedAt], (api) =>
    api.GET('/api/v2/policy-evaluations/{policy_evaluation_id}/policy-set-outcomes', {
      params: { path: { policy_evaluation_id: id }, query: { 'page[size]': 100 } },
    }),
  );
  return (
    <Loaded query={sets} rows={2}>
      {({ data }) => data.map((set) => <PolicySet key={set.id} set={set} />)}
    </Loaded>
  );
}

const order = ['errored', 'failed', 'passed'];

function PolicySet({ set: { attributes } }: { readonly set: SetOutcome }) {
  const outcomes = [...attributes.outcomes].sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  const tool = attributes['policy-tool-version'];
  return (
    <div className="stack-tight">
      <h3>
        {attributes['policy-set-name']}
        <span className="second small">{tool === undefined ? '' : ` OPA ${tool}`}</span>
      </h3>
      {attributes.error === '' ? null : <p>{attributes.error}</p>}
      <Table
        label={`Policies of ${attributes['policy-set-name']}`}
        rows={outcomes}
        keyOf={(one) => one.policy_name}
        narrow="stacked"
        columns={[
          { head: 'Policy', cell: (one) => one.policy_name },
          {
            head: 'Level',
            className: 'tight',
            cell: (one) => (
              <Badge tone={one.enforcement_level === 'mandatory' ? 'violet' : 'plain'}>{one.enforcement_level}</Badge>
            ),
          },
          { head: 'Status', className: 'tight', cell: (one) => <Status status={one.status} /> },
          {
            head: 'Output',
            cell: ({ output, query }) => (
              <div className="stack-none">
                {output.map(({ print }) => (
                  <span key={print}>{print}</span>
                ))}
                <code className="second small">{query}</code>
              </div>
            ),
          },
        ]}
      />
    </div>
  );
}

function Tasks({ results }: { readonly results: readonly TaskResult[] }) {
  return (
    <Table
      label="Run tasks"
      rows={results}
      keyOf={(one) => one.id}
      columns={[
        { head: 'Run task', cell: ({ attributes }) => attributes['task-name'] },
        { head: 'Level', cell: ({ attributes }) => attributes['workspace-task-enforcement-level'] },
        { head: 'Status', cell: ({ attributes }) => <Status status={attributes.status} /> },
        {
          head: 'Message',
          cell: ({ attributes: { message, url } }) =>
            url === '' ? (
              message
            ) : (
              <a href={url} rel="noreferrer">
                {message || 'Details'}
              </a>
            ),
        },
      ]}
    />
  );
}

function Override({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const draft = useDraft({ comment: '' });
  const override = useChange(
    (api) =>
      api.POST('/api/v2/task-stages/{task_stage_id}/actions/override', {
        params: { path: { task_stage_id: id } },
        body: { comment: draft.value.comment },
      }),
    onClose,
  );
  const { field } = fieldsOf(draft, override.error);
  return (
    <FormDialog
      title="Override and continue the run?"
      action="Override"
      kind="danger"
      change={override}
      onBack={onClose}
      onSend={() => override.mutate()}
    >
      <TextField
        label="Reason"
        autoFocus
        hint="Shown in the events of the run and in the audit trail."
        {...field('comment')}
      />
    </FormDialog>
  );
}
