import { Badge, type Tone } from '../../design/badge';
import { Copied } from '../../design/copy';
import { SelectField } from '../../design/field';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { useRead } from '../api';
import { useFilters } from '../filters';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { RemoveButton } from '../parts/remove-button';
import { SameByApi } from '../parts/same-by-api';
import { Table } from '../parts/table';
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

/** Every run of the installation, newest first. */
export function AdminRuns() {
  const [filters, setFilters] = useFilters<'status' | 'page'>();
  const query = { 'filter[status]': filters.status, include: 'workspace', 'page[number]': Number(filters.page ?? 1) };
  const runs = useRead(['admin', 'runs', query], (api) => api.GET('/api/v2/admin/runs', { params: { query } }), {
    everyMs: 5000,
  });
  return (
    <AdminPage title="Runs">
      <div className="row">
        <SelectField
          label="Status"
          value={filters.status ?? ''}
          onChange={(status) => setFilters({ status })}
          options={choices}
        />
      </div>
      <Loaded query={runs}>
        {({ data, included, meta }) =>
          data.length === 0 ? (
            <Empty>No run fits. A run begins when the tool plans or applies in a workspace.</Empty>
          ) : (
            <>
              <Table label="Runs" head={['Run', 'Workspace', 'Status', 'Message', 'Begun', '']}>
                {data.map(({ id, attributes, relationships }) => {
                  const at = included?.find((one) => one.id === relationships.workspace.data?.id);
                  return (
                    <tr key={id}>
                      <td className="tight">
                        <Copied text={id} what="run id" />
                      </td>
                      <td>{at?.attributes.name ?? relationships.workspace.data?.id}</td>
                      <td className="tight">
                        <Badge tone={toneOf(attributes.status)}>{attributes.status}</Badge>
                      </td>
                      <td>{attributes.message}</td>
                      <td className="tight">
                        <Time at={attributes['created-at']} />
                      </td>
                      <td className="tight">
                        <RemoveButton
                          text="Force-cancel"
                          label={`Force-cancel ${id}`}
                          action="Force-cancel"
                          title={`End ${id} at once?`}
                          forbidden={
                            toneOf(attributes.status) === 'amber' || toneOf(attributes.status) === 'accent'
                              ? undefined
                              : 'It is over.'
                          }
                          call={(api) =>
                            api.POST('/api/v2/admin/runs/{run_id}/actions/force-cancel', {
                              params: { path: { run_id: id } },
                            })
                          }
                        >
                          <p>What it has begun to change may be half done, and its state may not know of it.</p>
                        </RemoveButton>
                      </td>
                    </tr>
                  );
                })}
              </Table>
              <Pages pagination={meta?.pagination} onPage={(page) => setFilters({ page })} />
            </>
          )
        }
      </Loaded>
      <SameByApi path="admin/runs" />
    </AdminPage>
  );
}
