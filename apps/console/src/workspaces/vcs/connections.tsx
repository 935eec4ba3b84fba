import { Link } from '@tanstack/react-router';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton, type Adding } from '../parts/adding';
import { OrganizationPage } from '../parts/organization-page';
import { ResourceTable } from '../parts/resource-table';
import { ConnectApp } from './connect-app';

/** The connections of an organization to Git hosts. */
export function Connections() {
  const name = useOrganizationName();
  const organization = useOrganization();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1), 'page[size]': 20 };
  const connections = useRead(['oauth-clients', name, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/oauth-clients', {
      params: { path: { organization_name: name }, query },
    }),
  );
  const may = organization.data?.data?.attributes.permissions['can-update-oauth'];
  const adding: Adding = {
    label: 'Add connection',
    forbidden: rule(may, 'can-update-oauth'),
    to: `/organizations/${encodeURIComponent(name)}/version-control/new`,
  };
  return (
    <OrganizationPage
      title="Version control"
      path="oauth-clients"
      about={
        <p className="second">
          A workspace connected to a repository runs after each push, and plans each pull request.
        </p>
      }
      adding={adding}
    >
      <ConnectApp organization={name} />
      <ResourceTable
        label="Connections"
        query={connections}
        paged
        outline={2}
        empty={
          <Empty action={<AddButton {...adding} />}>
            A connection is a token of a Git host, or a GitHub App. Create a token there that may read repositories, set
            commit statuses, comment and manage webhooks; add it here; then choose the repository in the settings of a
            workspace.
          </Empty>
        }
        columns={[
          {
            head: 'Name',
            cell: ({ id, attributes }) => (
              <Link to={`/organizations/${encodeURIComponent(name)}/version-control/${id}`}>
                {attributes.name || attributes['service-provider-display-name']}
              </Link>
            ),
          },
          {
            head: 'Host',
            className: 'tight',
            cell: ({ attributes }) => attributes['service-provider-display-name'],
          },
          { head: 'Address', cell: ({ attributes }) => <code>{attributes['http-url']}</code> },
          {
            head: 'Scope',
            cell: ({ attributes, relationships }) =>
              attributes['organization-scoped']
                ? 'the whole organization'
                : `${relationships.projects.data.length} projects`,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </OrganizationPage>
  );
}
