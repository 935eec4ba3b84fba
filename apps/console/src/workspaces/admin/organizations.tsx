import { Link } from '@tanstack/react-router';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { RemoveButton } from '../parts/remove-button';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { Table } from '../parts/table';
import { AdminPage } from './frame';

/** Every organization of the installation. */
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
    <AdminPage title="Organizations">
      <SearchBox label="Organization" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ErrorNotice error={change.error} />
      <Loaded query={organizations}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty command="keystead org create NAME">No organization fits this search.</Empty>
          ) : (
            <>
              <Table label="Organizations" head={['Name', 'Id', 'E-mail address', 'Created', 'State', '']}>
                {data.map((organization) => {
                  const { attributes } = organization;
                  const { name, 'is-disabled': off } = attributes;
                  return (
                    <tr key={attributes['external-id']}>
                      <td>
                        <Link to={`/organizations/${encodeURIComponent(name)}/settings`}>{name}</Link>
                      </td>
                      <td className="tight">
                        <Copied text={attributes['external-id']} what="organization id" />
                      </td>
                      <td>{attributes['notification-email']}</td>
                      <td className="tight">
                        <Time at={attributes['created-at']} />
                      </td>
                      <td className="tight">
                        {off ? <Badge tone="red">disabled</Badge> : <Badge tone="green">in use</Badge>}
                      </td>
                      <td className="tight">
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
      <SameByApi path="admin/organizations" />
    </AdminPage>
  );
}
