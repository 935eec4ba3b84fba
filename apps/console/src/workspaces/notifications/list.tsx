import { Link } from '@tanstack/react-router';
import type { Pagination } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { type ApiAnswer, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton } from '../parts/adding';
import { ResourceTable } from '../parts/resource-table';
import { type Configuration, destinations } from './triggers';

/** The workspace or project whose runs cause the notifications. */
export interface Subject {
  readonly type: 'workspaces' | 'projects';
  readonly id: string;
}

interface Listed {
  readonly data: readonly Configuration[];
  readonly meta?: { readonly pagination?: Pagination };
}

/** The notifications of a workspace, or of all workspaces of a project; `to` is the address of this list. */
export function NotificationList({
  subject,
  to,
  forbidden,
}: {
  readonly subject: Subject;
  readonly to: string;
  readonly forbidden: string | undefined;
}) {
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1), 'page[size]': 20 };
  const { type, id } = subject;
  const configurations = useRead<Listed>(
    ['notifications', type, id, query],
    (api): Promise<ApiAnswer<Listed>> =>
      type === 'workspaces'
        ? api.GET('/api/v2/workspaces/{workspace_id}/notification-configurations', {
            params: { path: { workspace_id: id }, query },
          })
        : api.GET('/api/v2/projects/{project_id}/notification-configurations', {
            params: { path: { project_id: id }, query },
          }),
    { enabled: forbidden === undefined, everyMs: 30_000 },
  );
  if (forbidden !== undefined)
    return <Empty>Only people who may change notifications see where they go. {forbidden}</Empty>;
  const empty = `No notifications about ${type === 'workspaces' ? 'its runs' : 'the runs of its workspaces'} are sent.`;
  const create = <AddButton label="Create notification" to={`${to}/new`} />;
  return (
    <section className="stack-tight" aria-labelledby="notifications">
      <div className="panel-head">
        <h2 id="notifications">{type === 'workspaces' ? 'Notifications' : 'For all workspaces of the project'}</h2>
        {create}
      </div>
      <ResourceTable
        label="Notifications"
        query={configurations}
        paged
        outline={2}
        empty={
          <Empty action={create}>
            {empty} They can go to a web address, Slack, Microsoft Teams or people by e-mail.
          </Empty>
        }
        columns={[
          { head: 'Name', cell: ({ id, attributes }) => <Link to={`${to}/${id}`}>{attributes.name}</Link> },
          { head: 'Destination', cell: (configuration) => whom(configuration) },
          { head: 'Triggers', className: 'number tight', cell: ({ attributes }) => attributes.triggers.length },
          {
            head: 'State',
            className: 'tight',
            cell: ({ attributes }) =>
              attributes.enabled ? <Badge tone="green">enabled</Badge> : <Badge>disabled</Badge>,
          },
          {
            head: 'Last delivery',
            className: 'tight',
            cell: (configuration) => <LastTry configuration={configuration} />,
          },
        ]}
      />
    </section>
  );
}

function whom({ attributes, relationships }: Configuration): string {
  if (attributes['destination-type'] !== 'email') return destinations[attributes['destination-type']];
  return `${attributes['email-addresses'].length + relationships.users.data.length} by e-mail`;
}

/** The result of the last delivery. */
function LastTry({ configuration }: { readonly configuration: Configuration }) {
  const [last] = configuration.attributes['delivery-responses'];
  if (last === undefined) return <span className="second">none yet</span>;
  return (
    <span className="row">
      {last.successful === 'true' ? <Badge tone="green">arrived</Badge> : <Badge tone="red">failed</Badge>}
      <Time at={last['sent-at']} />
    </span>
  );
}
