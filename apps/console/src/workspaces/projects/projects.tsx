import { Link, useNavigate } from '@tanstack/react-router';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldsOf, useDraft } from '../parts/draft';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';

/** The projects of an organization. */
export function Projects() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const projects = useRead(['projects', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/projects', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-create-project'], 'can-create-project');
  return (
    <OrganizationPage
      title="Projects"
      path="projects"
      adding={{
        label: 'Create project',
        forbidden,
        form: (close) => <NewProject organization={name} onClose={close} />,
      }}
    >
      <SearchBox label="Project name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Projects"
        query={projects}
        paged
        empty={
          <Empty>
            {filters.q === undefined
              ? 'A project groups workspaces that the same teams use. Every organization starts with one.'
              : `No project that you see has “${filters.q}” in its name.`}
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <>
                <Link to={`/organizations/${encodeURIComponent(name)}/projects/${id}`}>{attributes.name}</Link>
                {attributes.description ? <p className="second small">{attributes.description}</p> : null}
              </>
            ),
          },
          {
            head: 'Workspaces',
            className: 'number tight',
            cell: ({ attributes }) => attributes['workspace-count'].toLocaleString('en'),
          },
          {
            head: 'Teams',
            className: 'number tight',
            cell: ({ attributes }) => attributes['team-count'].toLocaleString('en'),
          },
          {
            head: 'Execution mode',
            className: 'tight',
            cell: ({ attributes }) => attributes['default-execution-mode'],
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </OrganizationPage>
  );
}

function NewProject({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', description: '' });
  const { name, description } = draft.value;
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/projects', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'projects', attributes: { name, description: description || null } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/projects/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create project"
      action="Create project"
      change={create}
      onSend={() => create.mutate()}
      onBack={onClose}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField label="Description" {...field('description')} />
    </FormDialog>
  );
}
