import { Button } from '../../design/button';
import { Table } from '../../design/table';
import { rule, useChange, useRead } from '../api';
import { Status } from '../parts/states';

/** What other services said of a run, stage by stage; nothing if none was asked. */
export function RunTasks({ id }: { readonly id: string }) {
  const asked = useRead(['runs', id, 'task-stages'], (api) =>
    api.GET('/api/v2/runs/{run_id}/task-stages', {
      params: { path: { run_id: id }, query: { include: 'task_results' } },
    }),
  );
  const stages = asked.data?.data ?? [];
  const results = (asked.data?.included ?? []).filter((one) => one.type === 'task-results');
  if (stages.length === 0) return null;
  const waiting = stages.find(({ attributes }) => attributes.actions['is-overridable']);
  return (
    <section className="stack-tight">
      <div className="row spread">
        <h2>Run tasks</h2>
        {waiting === undefined ? null : (
          <Override
            id={waiting.id}
            forbidden={rule(waiting.attributes.permissions['can-override-tasks'], 'manage-run-tasks')}
          />
        )}
      </div>
      <Table
        label="Run tasks"
        rows={results}
        keyOf={(one) => one.id}
        columns={[
          { head: 'Stage', cell: ({ attributes }) => attributes.stage.replace('_', ' ') },
          { head: 'Task', cell: ({ attributes }) => attributes['task-name'] },
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
    </section>
  );
}

function Override({ id, forbidden }: { readonly id: string; readonly forbidden: string | undefined }) {
  const override = useChange((api) =>
    api.POST('/api/v2/task-stages/{task_stage_id}/actions/override', {
      params: { path: { task_stage_id: id } },
      body: {},
    }),
  );
  return (
    <Button kind="danger" forbidden={forbidden} onClick={() => override.mutate()}>
      Override
    </Button>
  );
}
