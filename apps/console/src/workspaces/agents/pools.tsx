import { Link, useNavigate } from '@tanstack/react-router';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton, type Adding } from '../parts/adding';
import { fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';

/** The agent pools of an organization. */
export function Pools() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const pools = useRead(['agent-pools', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/agent-pools', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update-agent-pools'];
  const adding: Adding = {
    label: 'Create agent pool',
    forbidden: rule(may, 'can-update-agent-pools'),
    form: (close) => <NewPool organization={name} onClose={close} />,
  };
  return (
    <OrganizationPage title="Agents" path="agent-pools" adding={adding}>
      <SearchBox label="Pool name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Agent pools"
        query={pools}
        paged
        outline={2}
        empty={
          <Empty action={<AddButton {...adding} />}>
            {filters.q === undefined
              ? 'A pool is a set of agents that you operate, for workspaces whose runs must execute in your network.'
              : `No pool has “${filters.q}” in its name.`}
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/agents/${id}`}>{attributes.name}</Link>
            ),
          },
          {
            head: 'Workspaces',
            className: 'number tight',
            cell: ({ relationships }) => relationships.workspaces.data.length,
          },
          {
            head: 'Scope',
            cell: ({ attributes, relationships }) =>
              attributes['organization-scoped']
                ? 'the whole organization'
                : `${relationships['allowed-projects'].data.length} projects, ${relationships['allowed-workspaces'].data.length} workspaces`,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </OrganizationPage>
  );
}

function NewPool({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', 'organization-scoped': true });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/agent-pools', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'agent-pools', attributes: draft.value } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/agents/${data?.id}` }),
  );
  const { field, check } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create agent pool"
      action="Create agent pool"
      change={create}
      onSend={() => create.mutate()}
      onBack={onClose}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <CheckField label="Available to the whole organization" {...check('organization-scoped')} />
    </FormDialog>
  );
}
