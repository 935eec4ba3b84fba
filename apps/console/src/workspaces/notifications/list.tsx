import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Pagination } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Form } from '../../design/form';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { type ApiAnswer, useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { useDraft } from '../parts/draft';
import { ResourceTable } from '../parts/resource-table';
import { ConfigurationFields, newConfiguration, sentConfiguration } from './configuration-fields';
import { type Configuration, destinations } from './triggers';

/** The workspace or project whose runs are notified. */
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
  const [adds, setAdds] = useState(false);
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
  const button = (
    <span>
      <Button kind="primary" onClick={() => setAdds(!adds)}>
        New notification
      </Button>
    </span>
  );
  return (
    <>
      {adds ? <NewConfiguration subject={subject} to={to} onClose={() => setAdds(false)} /> : null}
      <ResourceTable
        label="Notifications"
        query={configurations}
        paged
        outline={2}
        empty={
          adds ? null : (
            <Empty action={button}>
              {type === 'workspaces'
                ? 'No notifications about its runs are sent. They can go to a web address, Slack, Microsoft Teams or people by e-mail.'
                : 'No notifications about the runs of its workspaces are sent. They can go to a web address, Slack, Microsoft Teams or people by e-mail.'}
            </Empty>
          )
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
      {adds || configurations.data === undefined || configurations.data.data.length === 0 ? null : button}
    </>
  );
}

function whom({ attributes, relationships }: Configuration): string {
  if (attributes['destination-type'] !== 'email') return destinations[attributes['destination-type']];
  return `${attributes['email-addresses'].length + relationships.users.data.length} by e-mail`;
}

/** How the last delivery went. */
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

function NewConfiguration({
  subject: { type, id },
  to,
  onClose,
}: {
  readonly subject: Subject;
  readonly to: string;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const draft = useDraft(newConfiguration);
  const { value } = draft;
  const add = useChange(
    (api) => {
      const attributes = {
        ...sentConfiguration(value),
        name: value.name,
        'destination-type': value['destination-type'],
        ...(value['destination-type'] === 'email' ? { url: null } : { 'email-addresses': [] }),
      };
      const body = { data: { type: 'notification-configurations' as const, attributes } };
      return type === 'workspaces'
        ? api.POST('/api/v2/workspaces/{workspace_id}/notification-configurations', {
            params: { path: { workspace_id: id } },
            body,
          })
        : api.POST('/api/v2/projects/{project_id}/notification-configurations', {
            params: { path: { project_id: id } },
            body,
          });
    },
    ({ data }) => void navigate({ to: `${to}/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="New notification"
      action="Save notification"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <ConfigurationFields draft={draft} error={add.error} stored={false} />
    </Form>
  );
}
