import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { FormDialog } from '../../design/form';
import { Empty, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { Creator } from '../parts/opener';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { RequestFields, requestChange } from './change-request-form';
import { WorkspaceHead } from './head';
import { useWorkspace, type Workspace } from './use-workspace';

/** The change requests of a workspace. */
export function ChangeRequests() {
  const { org, workspace } = useWorkspace();
  return (
    <div className="stack">
      <WorkspaceHead>{workspace === undefined ? <Skeleton /> : <List org={org} workspace={workspace} />}</WorkspaceHead>
      {workspace === undefined ? null : <SameByApi path={`workspaces/${workspace.id}/change-requests`} />}
    </div>
  );
}

function List({ org, workspace: { id, attributes } }: { readonly org: string; readonly workspace: Workspace }) {
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const requests = useRead(['workspace', id, 'change-requests', query], (api) =>
    api.GET('/api/v2/workspaces/{workspace_id}/change-requests', { params: { path: { workspace_id: id }, query } }),
  );
  const archive = useChange((api, change_request_id: string) =>
    api.POST('/api/v2/workspaces/change-requests/{change_request_id}', { params: { path: { change_request_id } } }),
  );
  const forbidden = rule(attributes.permissions['can-update'], 'can-update', 'an administrator of the workspace');
  const create = (
    <Creator label="Create change request" forbidden={forbidden}>
      {(close) => <NewRequest org={org} id={id} onClose={close} />}
    </Creator>
  );
  return (
    <section className="stack-tight" aria-labelledby="change-requests">
      <div className="panel-head">
        <h2 id="change-requests">Change requests</h2>
        {create}
      </div>
      <ErrorNotice error={archive.error} />
      <ResourceTable
        label="Change requests"
        query={requests}
        paged
        empty={<Empty action={create}>A change request asks the people who work on this workspace for a change.</Empty>}
        columns={[
          {
            head: 'Request',
            cell: ({ attributes: { subject, message } }) => (
              <div className="stack-none">
                <span className="strong">{subject}</span>
                <span className="second small prose">{message}</span>
              </div>
            ),
          },
          {
            head: 'State',
            className: 'tight',
            cell: ({ attributes: { 'archived-at': archived } }) =>
              archived === null ? <Badge tone="amber">open</Badge> : <Badge>archived</Badge>,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: '',
            className: 'tight',
            cell: (request) =>
              request.attributes['archived-at'] === null ? (
                <Button
                  small
                  label={`Archive ${request.attributes.subject}`}
                  busy={archive.isPending}
                  forbidden={forbidden}
                  onClick={() => archive.mutate(request.id)}
                >
                  Archive
                </Button>
              ) : null,
          },
        ]}
      />
    </section>
  );
}

function NewRequest({ org, id, onClose }: { readonly org: string; readonly id: string; readonly onClose: () => void }) {
  const [text, setText] = useState({ subject: '', message: '' });
  const create = useChange((api) => requestChange(api, org, id, text), onClose);
  return (
    <FormDialog
      title="Create change request"
      action="Create change request"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <RequestFields value={text} onChange={setText} />
    </FormDialog>
  );
}
