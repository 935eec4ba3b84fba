import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../../design/button';
import { SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty, PageHead } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldError } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { Table } from '../parts/table';

/** The teams of an organization that the caller sees. */
export function Teams() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const [creates, setCreates] = useState(false);
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const teams = useRead(['teams', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/teams', {
      params: { path: { organization_name: name }, query },
    }),
  );
  return (
    <div className="stack">
      <PageHead
        title="Teams"
        crumbs={organizationCrumbs(name, { label: 'Teams' })}
        actions={
          <Button
            kind="primary"
            forbidden={rule(organization.data?.data?.attributes.permissions['can-create-team'], 'can-create-team')}
            onClick={() => setCreates(!creates)}
          >
            New team
          </Button>
        }
      />
      {creates ? <NewTeam organization={name} onClose={() => setCreates(false)} /> : null}
      <SearchBox label="Team name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <Loaded query={teams}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty>
              {filters.q === undefined
                ? 'A team is people who may do the same. You see those you are in, and those that are not secret.'
                : `No team that you see has “${filters.q}” in its name.`}
            </Empty>
          ) : (
            <>
              <Table label="Teams" head={['Name', 'Members', 'May in the whole organization', 'Seen by']}>
                {data.map(({ id, attributes }) => {
                  const rights = Object.entries(attributes['organization-access']).filter(([, has]) => has);
                  return (
                    <tr key={id}>
                      <td>
                        <Link to={`/organizations/${encodeURIComponent(name)}/teams/${id}`}>{attributes.name}</Link>
                      </td>
                      <td className="number tight">{attributes['users-count']}</td>
                      <td>
                        {attributes.name === 'owners' ? (
                          'everything'
                        ) : rights.length === 0 ? (
                          <span className="second">only what projects and workspaces grant</span>
                        ) : (
                          <span className="tags">
                            {rights.map(([right]) => (
                              <span className="tag" key={right}>
                                {right}
                              </span>
                            ))}
                          </span>
                        )}
                      </td>
                      <td className="tight">
                        {attributes.visibility === 'secret' ? 'its members' : 'the organization'}
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
      <SameByApi path={`organizations/${name}/teams`} />
    </div>
  );
}

function NewTeam({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [visibility, setVisibility] = useState<'secret' | 'organization'>('secret');
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/teams', {
        params: { path: { organization_name: organization } },
        body: { data: { type: 'teams', attributes: { name, visibility } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(organization)}/teams/${data?.id}` }),
  );
  return (
    <Form
      layout="panel"
      title="New team"
      action="Create team"
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
        hint="Letters, numbers, spaces, dashes and underscores."
      />
      <SelectField
        label="Seen by"
        value={visibility}
        onChange={(value) => setVisibility(value as 'secret')}
        options={[
          { value: 'secret', label: 'its members, and who manages teams' },
          { value: 'organization', label: 'everybody in the organization' },
        ]}
      />
    </Form>
  );
}
