import { Link, useNavigate } from '@tanstack/react-router';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton, type Adding } from '../parts/adding';
import { ChoicesField } from '../parts/choices-field';
import { fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { allScopes, type ListScope, scopes } from './scopes';

/** The address lists of an organization: IP addresses from which users and agents may connect. */
export function AddressLists() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const lists = useRead(['address-lists', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/cidr-range-lists', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-update'], 'can-update');
  const adding: Adding = {
    label: 'Create IP allowlist',
    forbidden,
    form: (close) => <NewList organization={name} onClose={close} />,
  };
  return (
    <OrganizationPage
      title="IP allowlists"
      path="cidr-range-lists"
      about={<p className="second">Without a range that is enabled, a list limits no one.</p>}
      adding={adding}
    >
      <ResourceTable
        label="IP allowlists"
        query={lists}
        paged
        outline={2}
        empty={
          <Empty action={<AddButton {...adding} />}>
            An IP allowlist says from which networks people and agents may reach the organization.
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/addresses/${id}`}>{attributes.name}</Link>
            ),
          },
          { head: 'Description', cell: ({ attributes }) => attributes.description },
          { head: 'Limits', className: 'tight', cell: ({ attributes }) => scopes[attributes['enforcement-scope']] },
          {
            head: 'Ranges',
            className: 'number tight',
            cell: ({ relationships }) => relationships['cidr-ranges'].data?.length,
          },
        ]}
      />
    </OrganizationPage>
  );
}

function NewList({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft<{
    name: string;
    description: string;
    'enforcement-scope': ListScope;
    pools: readonly string[];
  }>({ name: '', description: '', 'enforcement-scope': 'organization', pools: [] });
  const { pools, ...attributes } = draft.value;
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/cidr-range-lists', {
        params: { path: { organization_name: organization } },
        body: {
          data: {
            type: 'cidr-range-lists',
            attributes,
            relationships: { 'agent-pools': { data: pools.map((id) => ({ type: 'agent-pools' as const, id })) } },
          },
        },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/addresses/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create IP allowlist"
      action="Create IP allowlist"
      change={create}
      onSend={() => create.mutate()}
      onBack={onClose}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <SelectField
        label="Limits"
        value={draft.value['enforcement-scope']}
        onChange={draft.set('enforcement-scope')}
        options={allScopes.map((value) => ({ value, label: scopes[value] }))}
      />
      {draft.value['enforcement-scope'] === 'selected_agent_pools' ? (
        <ChoicesField
          label="Agent pools"
          kind="agent pools"
          organization={organization}
          chosen={pools}
          onChange={draft.set('pools')}
        />
      ) : null}
    </FormDialog>
  );
}
