import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Empty } from '../../design/page';
import { useChange, useRead } from '../api';
import { useFilters } from '../filters';
import { fieldsOf, useDraft } from '../parts/draft';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SearchBox } from '../parts/search-box';
import { AdminPage } from './frame';

/** The versions of the tool that workspaces may choose. */
export function AdminVersions() {
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = { 'search[version]': filters.q, 'page[number]': Number(filters.page ?? 1) };
  const versions = useRead(['admin', 'versions', query], (api) =>
    api.GET('/api/v2/admin/infra-versions', { params: { query } }),
  );
  const change = useChange((api, { id, ...attributes }: { id: string; enabled?: boolean; deprecated?: boolean }) =>
    api.PATCH('/api/v2/admin/infra-versions/{version_id}', {
      params: { path: { version_id: id } },
      body: { data: { type: 'infra-versions', attributes } },
    }),
  );
  return (
    <AdminPage
      title="Versions"
      path="admin/infra-versions"
      adding={{ label: 'Add version', form: (close) => <NewVersion onClose={close} /> }}
    >
      <SearchBox label="Version" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ErrorNotice error={change.error} />
      <ResourceTable
        label="Versions"
        query={versions}
        paged
        empty={
          <Empty>
            {filters.q === undefined
              ? 'Workspaces choose among these versions of the tool. Add the first one with its archive and checksum.'
              : 'No version fits this search.'}
          </Empty>
        }
        columns={[
          { head: 'Version', className: 'tight', cell: ({ attributes }) => <code>{attributes.version}</code> },
          {
            head: 'State',
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
          { head: 'Workspaces', className: 'number tight', cell: ({ attributes }) => attributes.usage },
          { head: 'Archive', cell: ({ attributes: { url } }) => (url === null ? null : <code>{url}</code>) },
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
                  forbidden={usage > 0 ? `${usage} workspaces chose it.` : undefined}
                  call={(api) =>
                    api.DELETE('/api/v2/admin/infra-versions/{version_id}', { params: { path: { version_id: id } } })
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

function NewVersion({ onClose }: { readonly onClose: () => void }) {
  const draft = useDraft({ version: '', url: '', sha: '' });
  const { version, url, sha } = draft.value;
  const add = useChange(
    (api) =>
      api.POST('/api/v2/admin/infra-versions', {
        body: {
          data: {
            type: 'infra-versions',
            attributes: { version, url: url || null, sha: sha || null },
          },
        },
      }),
    onClose,
  );
  const { field } = fieldsOf(draft, add.error);
  return (
    <Form
      layout="panel"
      title="Add version"
      action="Add version"
      change={add}
      onSend={() => add.mutate()}
      onBack={onClose}
    >
      <TextField label="Number" required autoFocus {...field('version')} placeholder="1.11.4" />
      <TextField label="Archive" type="url" {...field('url')} hint="Where workers fetch it." />
      <TextField label="SHA-256 of the archive" {...field('sha')} />
    </Form>
  );
}
