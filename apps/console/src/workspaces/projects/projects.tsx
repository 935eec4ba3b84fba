import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';
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

/** The projects of an organization. */
export function Projects() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const [creates, setCreates] = useState(false);
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const projects = useRead(['projects', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/projects', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const forbidden = rule(organization.data?.data?.attributes.permissions['can-create-project'], 'can-create-project');
  return (
    <div className="stack">
      <PageHead
        title="Projects"
        crumbs={organizationCrumbs(name, { label: 'Projects' })}
        actions={
          <Button kind="primary" forbidden={forbidden} onClick={() => setCreates(!creates)}>
            New project
          </Button>
        }
      />
      {creates ? <NewProject organization={name} onClose={() => setCreates(false)} /> : null}
      <SearchBox label="Project name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <Loaded query={projects}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty>
              {filters.q === undefined
                ? 'A project holds workspaces that the same teams use. Every organization begins with one.'
                : `No project that you see has “${filters.q}” in its name.`}
            </Empty>
          ) : (
            <>
              <Table label="Projects" head={['Name', 'Workspaces', 'Teams', 'Runs take place', 'Created']}>
                {data.map(({ id, attributes }) => (
                  <tr key={id}>
                    <td>
                      <Link to={`/organizations/${encodeURIComponent(name)}/projects/${id}`}>{attributes.name}</Link>
                      {attributes.description ? <p className="second small">{attributes.description}</p> : null}
                    </td>
                    <td className="number tight">{attributes['workspace-count'].toLocaleString('en')}</td>
                    <td className="number tight">{attributes['team-count'].toLocaleString('en')}</td>
                    <td className="tight">{attributes['default-execution-mode']}</td>
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
      <SameByApi path={`organizations/${name}/projects`} />
    </div>
  );
}

function NewProject({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/projects', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'projects', attributes: { name, description: description || null } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/projects/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="New project"
      action="Create project"
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
      <TextField
        label="Description"
        value={description}
        onChange={setDescription}
        error={fieldError(create.error, 'description')}
      />
    </Form>
  );
}
