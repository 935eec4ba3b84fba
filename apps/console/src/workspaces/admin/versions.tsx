import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty } from '../../design/page';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { AddButton, type Adding } from '../parts/adding';
import { fieldsOf, useDraft } from '../parts/draft';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { AdminPage } from './frame';

/** Programs whose versions the installation manages, and who chooses among them. */
const tools = {
  infra: { label: 'Terraform and OpenTofu', whose: 'Workspaces choose', users: 'Workspaces', example: '1.11.4' },
  opa: { label: 'OPA', whose: 'Policy sets choose', users: 'Policy sets', example: '1.4.2' },
  sentinel: { label: 'Sentinel', whose: 'Policy sets choose', users: 'Policy sets', example: '0.40.0' },
} as const;
type VersionedTool = keyof typeof tools;

/** The versions of programs that workspaces and policy sets may choose. */
export function AdminVersions() {
  const [filters, setFilters] = useFilters<'q' | 'page' | 'tool'>();
  const tool: VersionedTool = filters.tool === 'opa' || filters.tool === 'sentinel' ? filters.tool : 'infra';
  const { whose, users } = tools[tool];
  const query = { 'search[version]': filters.q, sort: '-version', 'page[number]': Number(filters.page ?? 1) };
  const versions = useRead(['admin', 'versions', tool, query], (api) =>
    api.GET(`/api/v2/admin/${tool}-versions`, { params: { query } }),
  );
  const change = useChange((api, { id, ...attributes }: { id: string; enabled?: boolean; deprecated?: boolean }) =>
    api.PATCH(`/api/v2/admin/${tool}-versions/{version_id}`, {
      params: { path: { version_id: id } },
      body: { data: { type: `${tool}-versions` as never, attributes } },
    }),
  );
  const adding: Adding = {
    label: 'Add version',
    form: (close) => <NewVersion key={tool} tool={tool} onClose={close} />,
  };
  return (
    <AdminPage title="Versions" path={`admin/${tool}-versions`} adding={adding}>
      <div className="row bottom">
        <SearchBox label="Version" value={filters.q} onSearch={(q) => setFilters({ q })} />
        <SelectField
          label="Program"
          value={tool}
          onChange={(next) => setFilters({ tool: next === 'infra' ? undefined : next, q: undefined })}
          options={Object.entries(tools).map(([value, { label }]) => ({ value: value as VersionedTool, label }))}
        />
      </div>
      {tool === 'sentinel' ? (
        <p className="second small">
          For policy sets that name a version. This service does not run Sentinel policies.
        </p>
      ) : null}
      <ErrorNotice error={change.error} />
      <ResourceTable
        label="Versions"
        query={versions}
        paged
        empty={
          <Empty action={<AddButton {...adding} />}>
            {filters.q === undefined
              ? `${whose} among these versions. Add the first one with its archive and checksum.`
              : 'No version matches this search.'}
          </Empty>
        }
        columns={[
          { head: 'Version', className: 'tight', cell: ({ attributes }) => <code>{attributes.version}</code> },
          {
            head: 'State',
            className: 'tight',
            cell: ({ attributes }) => (
              <span className="tags">
                {attributes.enabled ? <Badge tone="green">enabled</Badge> : <Badge>disabled</Badge>}
                {attributes.official ? <Badge tone="accent">official</Badge> : null}
                {attributes.beta ? <Badge tone="violet">beta</Badge> : null}
                {attributes.deprecated ? (
                  <Badge tone="amber">
                    deprecated{attributes['deprecated-reason'] ? `: ${attributes['deprecated-reason']}` : ''}
                  </Badge>
                ) : null}
              </span>
            ),
          },
          { head: users, className: 'number tight', cell: ({ attributes }) => attributes.usage },
          {
            head: 'Archive',
            cell: ({ attributes: { url } }) => (url === null ? null : <code className="long">{url}</code>),
          },
          {
            head: '',
            className: 'tight',
            cell: ({ id, attributes: { version, enabled, deprecated, usage } }) => (
              <span className="row">
                <Button small onClick={() => change.mutate({ id, enabled: !enabled })}>
                  {enabled ? 'Disable' : 'Enable'}
                </Button>
                <Button small onClick={() => change.mutate({ id, deprecated: !deprecated })}>
                  {deprecated ? 'Not deprecated' : 'Deprecate'}
                </Button>
                <RemoveButton
                  text="Delete"
                  label={`Delete ${version}`}
                  title={`Delete version ${version}?`}
                  forbidden={usage > 0 ? `${usage} ${users.toLowerCase()} chose it.` : undefined}
                  call={(api) =>
                    api.DELETE(`/api/v2/admin/${tool}-versions/{version_id}`, { params: { path: { version_id: id } } })
                  }
                />
              </span>
            ),
          },
        ]}
      />
    </AdminPage>
  );
}

function NewVersion({ tool, onClose }: { readonly tool: VersionedTool; readonly onClose: () => void }) {
  const draft = useDraft({ version: '', url: '', sha: '' });
  const { version, url, sha } = draft.value;
  const add = useChange(
    (api) =>
      api.POST(`/api/v2/admin/${tool}-versions`, {
        body: {
          data: {
            type: `${tool}-versions` as never,
            attributes: { version, url: url || null, sha: sha || null },
          },
        },
      }),
    onClose,
  );
  const { field } = fieldsOf(draft, add.error);
  return (
    <FormDialog title="Add version" action="Add version" change={add} onSend={() => add.mutate()} onBack={onClose}>
      <TextField label="Number" required autoFocus {...field('version')} placeholder={tools[tool].example} />
      <TextField label="Archive" type="url" {...field('url')} hint="The address from which workers download it." />
      <TextField label="SHA-256 of the archive" {...field('sha')} />
    </FormDialog>
  );
}
