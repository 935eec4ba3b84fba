import { Badge, type Tone } from '../../design/badge';
import { Copied } from '../../design/copy';
import { SelectField } from '../../design/field';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { includedOf, useRead } from '../api';
import { useFilters } from '../filters';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { AdminPage } from './frame';

const choices = [
  { value: '', label: 'all' },
  { value: 'pending', label: 'waiting' },
  { value: 'planning,applying', label: 'running' },
  { value: 'planned,cost_estimated,policy_checked', label: 'waiting for a person' },
  { value: 'errored', label: 'failed' },
  { value: 'canceled,force_canceled,discarded', label: 'stopped' },
  { value: 'applied,planned_and_finished', label: 'finished' },
];

const toneOf = (status: string): Tone => {
  if (/^(applied|planned_and_finished)$/.test(status)) return 'green';
  if (status === 'errored') return 'red';
  if (/cancel|discard/.test(status)) return 'plain';
  return /ing$/.test(status) && status !== 'pending' ? 'accent' : 'amber';
};

/** All runs of the installation, newest first. */
export function AdminRuns() {
  const [filters, setFilters] = useFilters<'status' | 'page'>();
  const query = { 'filter[status]': filters.status, include: 'workspace', 'page[number]': Number(filters.page ?? 1) };
  const runs = useRead(['admin', 'runs', query], (api) => api.GET('/api/v2/admin/runs', { params: { query } }), {
    everyMs: 5000,
  });
  return (
    <AdminPage title="Runs" path="admin/runs">
      <div className="row">
        <SelectField
          label="Status"
          value={filters.status ?? ''}
          onChange={(status) => setFilters({ status })}
          options={choices}
        />
      </div>
      <ResourceTable
        label="Runs"
        query={runs}
        paged
        empty={<Empty>No run matches. A run begins when the tool plans or applies in a workspace.</Empty>}
        columns={[
          { head: 'Run', className: 'tight', cell: ({ id }) => <Copied text={id} what="run id" /> },
          {
            head: 'Workspace',
            cell: ({ relationships: { workspace } }) =>
              includedOf(runs.data?.included, workspace)?.attributes.name ?? workspace.data?.id,
          },
          {
            head: 'Status',
            className: 'tight',
            cell: ({ attributes: { status } }) => <Badge tone={toneOf(status)}>{status}</Badge>,
          },
          { head: 'Message', cell: ({ attributes }) => attributes.message },
          { head: 'Begun', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: '',
            className: 'tight',
            cell: ({ id, attributes: { status } }) => (
              <RemoveButton
                text="Force cancel"
                label={`Force cancel ${id}`}
                action="Force cancel"
                title={`Force cancel ${id}?`}
                forbidden={toneOf(status) === 'amber' || toneOf(status) === 'accent' ? undefined : 'It has ended.'}
                call={(api) =>
                  api.POST('/api/v2/admin/runs/{run_id}/actions/force-cancel', { params: { path: { run_id: id } } })
                }
              >
                <p>Its changes may be incomplete, and the state may not include them.</p>
              </RemoveButton>
            ),
          },
        ]}
      />
    </AdminPage>
  );
}
