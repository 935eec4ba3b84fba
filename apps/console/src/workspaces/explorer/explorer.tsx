import { Link } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Empty, PageHead, Tabs } from '../../design/page';
import { saveFile } from '../../design/save-file';
import type { Column } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { organizationCrumbs, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { type ExplorerAddress, queryOf, usageSorts, type ViewName, views, workspaceFilters } from './query';

export const ExplorerWorkspaces = () => <Explorer key="workspaces" view="workspaces" />;
export const ExplorerProviders = () => <Explorer key="providers" view="providers" />;
export const ExplorerModules = () => <Explorer key="modules" view="modules" />;
export const ExplorerVersions = () => <Explorer key="tf_versions" view="tf_versions" />;

type Row = Resource<'ExplorerResource'>;

/** The explorer: what the workspaces of an organization use, and their state. */
function Explorer({ view }: { readonly view: ViewName }) {
  const org = useOrganizationName();
  const [address] = useFilters<keyof ExplorerAddress>();
  const query = queryOf(view, address);
  const rows = useRead(
    ['explorer', org, query],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/explorer', {
        params: { path: { organization_name: org }, query: { ...query, 'page[size]': 50 } as never },
      }),
    { keeps: true },
  );
  const below = `/organizations/${org}/explorer`;
  const path = `explorer?${new URLSearchParams(query)}`;
  const total = rows.data?.meta?.pagination?.['total-count'];
  return (
    <div className="stack">
      <PageHead
        title="Explorer"
        crumbs={organizationCrumbs(org, { label: 'Explorer' })}
        actions={
          <DownloadButton path={`/api/v2/organizations/${org}/explorer/export/csv?${csvOf(query)}`} view={view} />
        }
      >
        <p className="second">Versions, modules and status of the workspaces in this organization.</p>
      </PageHead>
      <Tabs
        label="View"
        tabs={Object.values(views).map(({ path, label }) => ({ to: below + path, label, exact: path === '' }))}
      />
      <Filters view={view} />
      {total === undefined || total === 0 ? null : (
        <p className="second small" role="status">
          {total.toLocaleString('en')} in all
        </p>
      )}
      <ResourceTable
        label={views[view].label}
        query={rows}
        paged
        empty={<Empty>{emptyOf(view, Object.keys(address).length > 0)}</Empty>}
        columns={view === 'workspaces' ? workspaceColumns(org) : usageColumns(org, view)}
      />
      <SameByApi path={`organizations/${org}/${path}`} />
    </div>
  );
}

const csvOf = ({ 'page[number]': _, ...query }: Record<string, string>) => new URLSearchParams(query).toString();

function emptyOf(view: ViewName, isFiltered: boolean): string {
  if (isFiltered) return 'Nothing matches these filters.';
  if (view === 'modules') return 'No run has installed a module of this organization’s registry.';
  if (view === 'providers') return 'No state names a provider yet.';
  return 'There are no workspaces yet.';
}

function DownloadButton({ path, view }: { readonly path: string; readonly view: ViewName }) {
  const { transport } = useSession();
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const text = await transport.call<string>('GET', path);
      saveFile(`explorer-${view}.csv`, String(text), 'text/csv');
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <ErrorNotice error={failure} />
      <Button icon={Download} busy={isBusy} onClick={() => void download()}>
        Download CSV
      </Button>
    </>
  );
}

function Filters({ view }: { readonly view: ViewName }) {
  const [address, change] = useFilters<keyof ExplorerAddress>();
  const sorts = view === 'workspaces' ? views.workspaces.sorts : usageSorts;
  return (
    <search className="filters">
      {view === 'workspaces' ? (
        workspaceFilters.map(([name, , , label]) =>
          name === 'drift' ? (
            <SelectField
              key={name}
              label={label}
              value={address.drift ?? ''}
              onChange={(drift) => change({ drift })}
              options={[
                { value: '', label: 'Any' },
                { value: 'true', label: 'Drifted' },
                { value: 'false', label: 'Not drifted, or not assessed' },
              ]}
            />
          ) : (
            <Typed key={name} label={label} value={address[name] ?? ''} onChange={(text) => change({ [name]: text })} />
          ),
        )
      ) : (
        <Typed
          label={view === 'tf_versions' ? 'Version' : 'Source'}
          value={address.q ?? ''}
          onChange={(q) => change({ q })}
        />
      )}
      <SelectField
        label="Sort by"
        value={address.sort ?? sorts[0][0]}
        onChange={(sort: string) => change({ sort })}
        options={sorts.map(([value, label]) => ({ value: value as string, label }))}
      />
    </search>
  );
}

/** A text field whose value is applied a short time after the last key press. */
function Typed({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new text may start the delay
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return <TextField label={label} type="search" value={text} onChange={setText} />;
}

const workspaceColumns = (org: string): readonly Column<Row>[] => [
  {
    head: 'Workspace',
    cell: ({ attributes: { 'workspace-name': name, 'project-name': project } }) => (
      <>
        <Link to={`/organizations/${org}/workspaces/${name}`}>{name}</Link>
        <p className="second small">{project}</p>
      </>
    ),
  },
  {
    head: 'Current run',
    cell: ({ attributes: { 'current-run-status': status, 'current-run-external-id': run, 'workspace-name': name } }) =>
      status && run ? (
        <Link to={`/organizations/${org}/workspaces/${name}/runs/${run}`}>
          <Status status={status} />
        </Link>
      ) : (
        <span className="second">none</span>
      ),
  },
  {
    head: 'Drift and checks',
    cell: ({ attributes: { drifted, 'resources-drifted': resources, 'checks-failed': failed } }) => (
      <span className="row">
        {drifted ? <Badge tone="amber">{resources} drifted</Badge> : <span className="second">–</span>}
        {failed ? <Badge tone="red">{failed} failed</Badge> : null}
      </span>
    ),
  },
  {
    head: 'Terraform',
    className: 'tight',
    cell: ({ attributes: { 'workspace-terraform-version': set, 'state-version-terraform-version': used } }) => (
      <>
        {set}
        {used && used !== set ? <p className="second small">state by {used}</p> : null}
      </>
    ),
  },
  { head: 'Providers', cell: ({ attributes: { providers } }) => <Names text={providers} /> },
  { head: 'Modules', cell: ({ attributes: { modules } }) => <Names text={modules} /> },
  {
    head: 'Updated',
    className: 'tight',
    cell: ({ attributes }) => <Time at={attributes['workspace-updated-at'] ?? null} />,
  },
];

const few = 3;

/** The last parts of names, separated by commas; the full names in a tooltip. */
function Names({ text, total }: { readonly text: string | null | undefined; readonly total?: number | null }) {
  const names = text ? text.split(', ') : [];
  const more = (total ?? names.length) - few;
  if (names.length === 0) return <span className="second">–</span>;
  return (
    <span className="tags" title={names.join('\n')}>
      {names.slice(0, few).map((name) => (
        <span key={name} className="tag">
          {name.split('/').slice(-2).join('/')}
        </span>
      ))}
      {more > 0 ? <span className="second small">+{more.toLocaleString('en')}</span> : null}
    </span>
  );
}

/** For each view, the filter that lists the workspaces that a row counts. */
const countedBy = {
  providers: ({ attributes }: Row): ExplorerAddress => ({ provider: attributes.source ?? '' }),
  modules: ({ attributes }: Row): ExplorerAddress => ({ module: `${attributes.source}:${attributes.version}` }),
  tf_versions: ({ attributes }: Row): ExplorerAddress => ({ version: attributes.version ?? '' }),
};

const usageColumns = (org: string, view: Exclude<ViewName, 'workspaces'>): readonly Column<Row>[] => [
  ...(view === 'tf_versions'
    ? []
    : [
        {
          head: views[view].label.slice(0, -1),
          cell: ({ attributes: { name, source } }: Row) => (
            <>
              <span className="strong">{name}</span>
              <p className="second small">{source}</p>
            </>
          ),
        },
      ]),
  ...(view === 'providers'
    ? []
    : [{ head: 'Version', className: 'tight', cell: ({ attributes: { version } }: Row) => version }]),
  {
    head: 'Workspaces',
    className: 'number tight',
    cell: (row) => (
      <Link to={`/organizations/${org}/explorer`} search={countedBy[view](row) as never}>
        {(row.attributes['workspace-count'] ?? 0).toLocaleString('en')}
      </Link>
    ),
  },
  {
    head: 'Among them',
    cell: ({ attributes: { workspaces, 'workspace-count': total } }) => (
      <Names text={workspaces} total={total ?? null} />
    ),
  },
];
