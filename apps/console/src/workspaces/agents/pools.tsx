import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { CheckField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldError } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { Table } from '../parts/table';

/** The agent pools of an organization. */
export function Pools() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const [creates, setCreates] = useState(false);
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const pools = useRead(['agent-pools', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/agent-pools', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update-agent-pools'];
  return (
    <div className="stack">
      <PageHead
        title="Agents"
        crumbs={organizationCrumbs(name, { label: 'Agents' })}
        actions={
          <Button kind="primary" forbidden={rule(may, 'can-update-agent-pools')} onClick={() => setCreates(!creates)}>
            New agent pool
          </Button>
        }
      />
      {creates ? <NewPool organization={name} onClose={() => setCreates(false)} /> : null}
      <SearchBox label="Pool name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <Loaded query={pools} rows={2}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty>
              {filters.q === undefined
                ? 'A pool is workers of your own, for workspaces whose runs must take place in your network.'
                : `No pool has “${filters.q}” in its name.`}
            </Empty>
          ) : (
            <>
              <Table label="Agent pools" head={['Name', 'Workspaces that use it', 'Open to', 'Created']}>
                {data.map(({ id, attributes, relationships }) => (
                  <tr key={id}>
                    <td>
                      <Link to={`/organizations/${encodeURIComponent(name)}/agents/${id}`}>{attributes.name}</Link>
                    </td>
                    <td className="number tight">{relationships.workspaces.data.length}</td>
                    <td>
                      {attributes['organization-scoped']
                        ? 'the whole organization'
                        : `${relationships['allowed-projects'].data.length} projects, ${relationships['allowed-workspaces'].data.length} workspaces`}
                    </td>
                    <td className="tight">
                      <Time at={attributes['created-at']} />
                    </td>
                  </tr>
                ))}
              </Table>
              <Pages pagination={meta?.pagination} onPage={(page) => setFilters({ page })} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`organizations/${name}/agent-pools`} />
    </div>
  );
}

function NewPool({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [isOpen, setOpen] = useState(true);
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/agent-pools', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'agent-pools', attributes: { name, 'organization-scoped': isOpen } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/agents/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="New agent pool"
      action="Create agent pool"
      change={create}
      onSend={() => create.mutate()}
      onBack={onClose}
    >
      <TextField
        label="Name"
        required
        autoFocus
        value={name}
        onChange={setName}
        error={fieldError(create.error, 'name')}
      />
      <CheckField label="Open to the whole organization" checked={isOpen} onChange={setOpen} />
    </Form>
  );
}
