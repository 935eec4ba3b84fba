import { Link, useNavigate } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';

/** The teams of an organization that the caller may see. */
export function Teams() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const teams = useRead(['teams', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/teams', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-create-team'], 'can-create-team');
  return (
    <OrganizationPage
      title="Teams"
      path="teams"
      adding={{ label: 'Create team', forbidden, form: (close) => <NewTeam organization={name} onClose={close} /> }}
    >
      <SearchBox label="Team name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Teams"
        query={teams}
        paged
        empty={
          <Empty>
            {filters.q === undefined
              ? 'A team is a group of people with the same rights. You see your own teams, and teams that are not secret.'
              : `No team that you see has “${filters.q}” in its name.`}
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/teams/${id}`}>{attributes.name}</Link>
            ),
          },
          { head: 'Members', className: 'number tight', cell: ({ attributes }) => attributes['users-count'] },
          { head: 'Organization access', cell: (team) => <Rights team={team} /> },
          {
            head: 'Visibility',
            className: 'tight',
            cell: ({ attributes }) => (attributes.visibility === 'secret' ? 'its members' : 'the organization'),
          },
        ]}
      />
    </OrganizationPage>
  );
}

function Rights({ team: { attributes } }: { readonly team: Resource<'TeamsResource'> }) {
  if (attributes.name === 'owners') return 'everything';
  const rights = Object.entries(attributes['organization-access']).filter(([, has]) => has);
  if (rights.length === 0) return <span className="second">only what projects and workspaces grant</span>;
  return (
    <span className="tags">
      {rights.map(([right]) => (
        <span className="tag" key={right}>
          {right}
        </span>
      ))}
    </span>
  );
}

function NewTeam({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', visibility: 'secret' as 'secret' | 'organization' });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/teams', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'teams', attributes: draft.value } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/teams/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create team"
      action="Create team"
      change={create}
      onSend={() => create.mutate()}
      onBack={onClose}
    >
      <TextField
        label="Name"
        required
        autoFocus
        hint="Letters, numbers, spaces, dashes and underscores."
        {...field('name')}
      />
      <SelectField
        label="Visibility"
        {...field('visibility')}
        options={[
          { value: 'secret', label: 'Secret: its members and people who manage teams' },
          { value: 'organization', label: 'Visible: every member of the organization' },
        ]}
      />
    </FormDialog>
  );
}
