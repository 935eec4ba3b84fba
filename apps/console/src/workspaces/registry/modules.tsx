import { Link, useNavigate } from '@tanstack/react-router';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, PageHead, Tabs } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldsOf, useDraft } from '../parts/draft';
import { Creator, Opener } from '../parts/opener';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { Status } from '../parts/states';
import { typedText } from '../parts/typed';
import { connectionAttribute, NoConnection, useConnections } from '../vcs/connection-choices';
import { newestOf } from './newest';

/** The tabs above the lists of modules and of providers. */
export function RegistryTabs({ org }: { readonly org: string }) {
  const at = `/organizations/${encodeURIComponent(org)}/registry`;
  return (
    <Tabs
      label="Registry"
      tabs={[
        { to: at, label: 'Modules', exact: true },
        { to: `${at}/providers`, label: 'Providers' },
      ]}
    />
  );
}

/** The modules of an organization. */
export function Modules() {
  const org = useOrganizationName();
  const may = useOrganization().data?.data?.attributes.permissions['can-create-module'];
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const modules = useRead(['registry-modules', org, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/registry-modules', {
      params: { path: { organization_name: org }, query },
    }),
  );
  const forbidden = rule(may, 'manage-modules');
  const create = (
    <Creator label="Create module" forbidden={forbidden}>
      {(close) => <NewModule org={org} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <PageHead
        title="Modules"
        crumbs={organizationCrumbs(org, { label: 'Registry' })}
        actions={
          <>
            <Opener label="Publish from Git" forbidden={forbidden}>
              {(close) => <FromGit org={org} onClose={close} />}
            </Opener>
            {create}
          </>
        }
      >
        <RegistryTabs org={org} />
      </PageHead>
      <SearchBox label="Module, provider or namespace" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Modules"
        query={modules}
        paged
        empty={
          <Empty action={create}>
            Modules are versioned configurations that workspaces share, published from repository tags or uploaded.
          </Empty>
        }
        columns={[
          {
            head: 'Module',
            cell: ({ id, attributes: { name, 'vcs-repo': repository } }) => (
              <div className="stack-none">
                <Link to={`/organizations/${encodeURIComponent(org)}/registry/modules/${id}`}>{name}</Link>
                {repository === undefined ? null : <span className="second small">{repository.identifier}</span>}
              </div>
            ),
          },
          { head: 'Provider', className: 'tight', cell: ({ attributes }) => attributes.provider },
          {
            head: 'Newest version',
            className: 'tight',
            cell: ({ attributes: { 'version-statuses': versions, status } }) =>
              newestOf(versions)?.version ?? <Status status={status} />,
          },
          { head: 'Updated', className: 'tight', cell: ({ attributes }) => <Time at={attributes['updated-at']} /> },
        ]}
      />
      <SameByApi path={`organizations/${org}/registry-modules`} />
    </div>
  );
}

function NewModule({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', provider: '' });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/registry-modules', {
        params: { path: { organization_name: org } },
        body: { data: { type: 'registry-modules', attributes: { ...draft.value, 'registry-name': 'private' } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/registry/modules/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create module"
      action="Create module"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField
        label="Provider"
        required
        placeholder="aws"
        hint="The main provider that the module uses."
        {...field('provider')}
      />
    </FormDialog>
  );
}

function FromGit({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ token: '', identifier: '', branch: '', 'source-directory': '', 'tag-prefix': '' });
  const { value } = draft;
  const connections = useConnections(org, value.token);
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/registry-modules/vcs', {
        params: { path: { organization_name: org } },
        body: {
          data: {
            type: 'registry-modules',
            attributes: {
              'vcs-repo': {
                ...connectionAttribute(value.token),
                identifier: value.identifier,
                'display-identifier': value.identifier,
                'source-directory': typedText(value['source-directory']),
                'tag-prefix': typedText(value['tag-prefix']),
                ...(value.branch.trim() === '' ? {} : { branch: value.branch.trim(), tags: false }),
              },
              ...(value.branch.trim() === '' ? {} : { 'initial-version': '0.1.0' }),
            },
          },
        },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/registry/modules/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Publish from Git"
      action="Publish from Git"
      change={create}
      forbidden={connections.isEmpty ? 'There is no connection to a Git host yet.' : undefined}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      {connections.isEmpty ? <NoConnection org={org} /> : null}
      <SelectField label="Connection" {...field('token')} options={connections.options} />
      <TextField
        label="Repository"
        required
        placeholder="team/terraform-aws-network"
        hint="Its name must be terraform-PROVIDER-NAME."
        {...field('identifier')}
      />
      <TextField
        label="Branch"
        hint="If empty, each version tag is published. With a branch, each commit is published."
        {...field('branch')}
      />
      <TextField
        label="Folder"
        hint="Only needed if the module is not in the root folder."
        {...field('source-directory')}
      />
      <TextField label="Tag prefix" placeholder="network/" {...field('tag-prefix')} />
    </FormDialog>
  );
}
