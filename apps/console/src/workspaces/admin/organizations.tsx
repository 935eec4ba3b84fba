import { Link } from '@tanstack/react-router';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { AdminPage } from './frame';

/** All organizations of the installation. */
export function AdminOrganizations() {
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const organizations = useRead(['admin', 'organizations', query], (api) =>
    api.GET('/api/v2/admin/organizations', { params: { query } }),
  );
  const change = useChange((api, { id, off }: { readonly id: string; readonly off: boolean }) =>
    api.PATCH('/api/v2/admin/organizations/{organization_name}', {
      params: { path: { organization_name: id } },
      body: { data: { type: 'organizations', attributes: { 'is-disabled': off } } },
    }),
  );
  return (
    <AdminPage title="Organizations" path="admin/organizations">
      <SearchBox label="Organization" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ErrorNotice error={change.error} />
      <ResourceTable
        label="Organizations"
        query={organizations}
        paged
        empty={<Empty>No organization matches this search.</Empty>}
        columns={[
          {
            head: 'Name',
            cell: ({ attributes: { name } }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/settings`}>{name}</Link>
            ),
          },
          {
            head: 'ID',
            className: 'tight',
            cell: ({ attributes }) => <Copied text={attributes['external-id']} what="organization id" />,
          },
          { head: 'Email address', cell: ({ attributes }) => attributes['notification-email'] },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: 'State',
            className: 'tight',
            cell: ({ attributes }) =>
              attributes['is-disabled'] ? <Badge tone="red">disabled</Badge> : <Badge tone="green">in use</Badge>,
          },
          {
            head: '',
            className: 'tight',
            cell: ({ attributes: { name, 'is-disabled': off } }) => (
              <span className="row">
                <Button small onClick={() => change.mutate({ id: name, off: !off })}>
                  {off ? 'Enable' : 'Disable'}
                </Button>
                <RemoveButton
                  text="Delete"
                  label={`Delete ${name}`}
                  title={`Delete ${name} and everything in it?`}
                  name={name}
                  call={(api) =>
                    api.DELETE('/api/v2/admin/organizations/{organization_name}', {
                      params: { path: { organization_name: name } },
                    })
                  }
                />
              </span>
            ),
          },
        ]}
      />
    </AdminPage>
  );
}
