import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, Lines, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { exactly, organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Creator } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { RegistryTabs } from './modules';
import { Usages } from './usages';

type ProviderResource = Resource<'RegistryProvidersResource'>;

const keysAt = '/api/registry/private/v2/gpg-keys';

/** The keys that sign providers, as the registry protocol lists them. */
interface Keys {
  readonly data: readonly {
    readonly id: string;
    readonly attributes: { readonly 'key-id': string; readonly source: string; readonly 'created-at': string };
  }[];
}

/** The providers of an organization, and the keys that sign them. */
export function Providers() {
  const org = useOrganizationName();
  const may = useOrganization().data?.data?.attributes.permissions['can-create-provider'];
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { q: filters.q, 'page[number]': Number(filters.page ?? 1) };
  const providers = useRead(['registry-providers', org, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/registry-providers', {
      params: { path: { organization_name: org }, query },
    }),
  );
  const forbidden = rule(may, 'manage-providers');
  const create = (
    <Creator label="Create provider" forbidden={forbidden}>
      {(close) => <NewProvider org={org} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <PageHead title="Providers" crumbs={organizationCrumbs(org, { label: 'Registry' })} actions={create}>
        <RegistryTabs org={org} />
      </PageHead>
      <SearchBox label="Provider or namespace" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Providers"
        query={providers}
        paged
        empty={
          <Empty action={create}>
            No provider yet. Providers of your own are signed with a key of the organization.
          </Empty>
        }
        columns={[
          {
            head: 'Provider',
            cell: ({ id, attributes: { name } }) => (
              <Link to={`/organizations/${encodeURIComponent(org)}/registry/providers/${id}`}>{name}</Link>
            ),
          },
          { head: 'Namespace', cell: ({ attributes }) => attributes.namespace },
          {
            head: 'Versions',
            className: 'number tight',
            cell: ({ relationships }) => relationships['registry-provider-versions'].data.length,
          },
          { head: 'Updated', className: 'tight', cell: ({ attributes }) => <Time at={attributes['updated-at']} /> },
        ]}
      />
      <SigningKeys org={org} forbidden={forbidden} />
      <SameByApi path={`organizations/${org}/registry-providers`} />
    </div>
  );
}

function NewProvider({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '' });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/registry-providers', {
        params: { path: { organization_name: org } },
        body: {
          data: {
            type: 'registry-providers',
            attributes: { ...draft.value, namespace: org, 'registry-name': 'private' },
          },
        },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/registry/providers/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create provider"
      action="Create provider"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
    </FormDialog>
  );
}

function SigningKeys({ org, forbidden }: { readonly org: string; readonly forbidden: string | undefined }) {
  const { transport } = useSession();
  const keys = useRead(['gpg-keys', org], (_, wire) =>
    exactly<Keys>(wire, `${keysAt}?filter%5Bnamespace%5D=${encodeURIComponent(org)}&page%5Bsize%5D=100`),
  );
  return (
    <section className="stack-tight" aria-labelledby="keys">
      <div className="row spread">
        <h2 id="keys">Signing keys</h2>
        <Creator label="Add key" forbidden={forbidden}>
          {(close) => <AddKey org={org} onClose={close} />}
        </Creator>
      </div>
      <ResourceTable
        label="Signing keys"
        query={keys}
        outline={1}
        empty={<p className="second">The public GPG key that verifies your providers.</p>}
        columns={[
          { head: 'Key id', cell: ({ attributes }) => <code>{attributes['key-id']}</code> },
          { head: 'Added', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: '',
            className: 'tight',
            cell: ({ attributes: { 'key-id': key } }) => (
              <RemoveButton
                label={`Delete ${key}`}
                text="Delete"
                title={`Delete the key ${key}?`}
                call={async () => ({
                  data: await transport.call('DELETE', `${keysAt}/${encodeURIComponent(org)}/${key}`),
                  response: new Response(),
                })}
                forbidden={forbidden}
              />
            ),
          },
        ]}
      />
    </section>
  );
}

function AddKey({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const { transport } = useSession();
  const draft = useDraft({ 'ascii-armor': '' });
  const add = useChange(async () => {
    const attributes = { namespace: org, ...draft.value };
    const body = { data: { type: 'gpg-keys', attributes } };
    return { data: await transport.call('POST', keysAt, body), response: new Response() };
  }, onClose);
  const { field } = fieldsOf(draft, add.error);
  return (
    <FormDialog title="Add key" action="Add key" change={add} onBack={onClose} onSend={() => add.mutate()}>
      <TextField
        label="Public key"
        required
        autoFocus
        rows={8}
        placeholder="-----BEGIN PGP PUBLIC KEY BLOCK-----"
        {...field('ascii-armor')}
      />
    </FormDialog>
  );
}

/** One provider: its usage, versions and platforms. */
export function ProviderPage() {
  const org = useOrganizationName();
  const { provider: id = '' } = useParams({ strict: false }) as { provider?: string };
  const found = useRead(['registry-provider', id], (api) =>
    api.GET('/api/v2/registry-providers/{registry_provider_id}', { params: { path: { registry_provider_id: id } } }),
  );
  const provider = found.data?.data ?? undefined;
  const at = `/organizations/${encodeURIComponent(org)}/registry/providers`;
  const forbidden = rule(provider?.attributes.permissions['can-delete'], 'manage-providers');
  return (
    <div className="stack">
      <PageHead
        title={provider?.attributes.name ?? 'Provider'}
        crumbs={organizationCrumbs(org, { label: 'Registry', to: at }, { label: provider?.attributes.name ?? '…' })}
      />
      <Loaded query={found} rows={6}>
        {() =>
          provider === undefined ? null : (
            <>
              <Lines what="block" text={blockOf(provider)} />
              <Versions provider={provider} />
              <Usages what="provider" id={provider.id} />
              <DangerZone
                what="provider"
                name={provider.attributes.name}
                call={(api) =>
                  api.DELETE(
                    '/api/v2/organizations/{organization_name}/registry-providers/{registry_name}/{namespace}/{provider_name}',
                    { params: { path: pathOf(provider) } },
                  )
                }
                to={at}
                forbidden={forbidden}
              >
                All its versions are deleted. Workspaces that use one can no longer download it.
              </DangerZone>
            </>
          )
        }
      </Loaded>
      <SameByApi path={`registry-providers/${id}`} />
    </div>
  );
}

const pathOf = ({ attributes, relationships }: ProviderResource) => ({
  organization_name: relationships.organization.data?.id ?? attributes.namespace,
  registry_name: attributes['registry-name'],
  namespace: attributes.namespace,
  provider_name: attributes.name,
});

const blockOf = ({ attributes }: ProviderResource): string => {
  const { namespace, name, 'registry-name': registry } = attributes;
  const host = registry === 'private' ? location.host : registry === 'public' ? 'registry.terraform.io' : registry;
  return `terraform {\n  required_providers {\n    ${name} = {\n      source = "${host}/${namespace}/${name}"\n    }\n  }\n}`;
};

function Versions({ provider }: { readonly provider: ProviderResource }) {
  const path = pathOf(provider);
  const versions = useRead(['registry-provider', provider.id, 'versions'], (api) =>
    api.GET(
      '/api/v2/organizations/{organization_name}/registry-providers/{registry_name}/{namespace}/{provider_name}/versions',
      { params: { path, query: { 'page[size]': 100 } } },
    ),
  );
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      <ResourceTable
        label="Versions"
        query={versions}
        outline={2}
        empty={
          <Empty>
            A version consists of a signed checksum file and an archive for each platform. Upload it from a pipeline.
          </Empty>
        }
        columns={[
          { head: 'Version', cell: ({ attributes }) => attributes.version },
          { head: 'Key', cell: ({ attributes }) => <code>{attributes['key-id']}</code> },
          {
            head: 'Signature',
            cell: ({ attributes }) =>
              attributes['shasums-uploaded'] && attributes['shasums-sig-uploaded'] ? (
                <Badge tone="green">signed</Badge>
              ) : (
                <Badge tone="amber">incomplete</Badge>
              ),
          },
          {
            head: 'Platforms',
            className: 'number tight',
            cell: ({ relationships }) => relationships.platforms.data.length,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
          {
            head: '',
            className: 'tight',
            cell: ({ attributes: { version, permissions } }) => (
              <RemoveButton
                label={`Delete ${version}`}
                text="Delete"
                title={`Delete version ${version}?`}
                call={(api) =>
                  api.DELETE(
                    '/api/v2/organizations/{organization_name}/registry-providers/{registry_name}/{namespace}/{provider_name}/versions/{provider_version}',
                    { params: { path: { ...path, provider_version: version } } },
                  )
                }
                forbidden={rule(permissions['can-delete'], 'manage-providers')}
              />
            ),
          },
        ]}
      />
    </section>
  );
}
