import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { dataOf } from '../../api/transport';
import { type AnswerTo, type WorkspacesApi, workspacesApi } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { CopyButton } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, SinceField, TextField } from '../../design/field';
import { Empty, Skeleton } from '../../design/page';
import { PickerField } from '../../design/picker';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { AdminPage } from '../admin/frame';
import { type ApiAnswer, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { OrganizationPage } from '../parts/organization-page';
import { ChangedFields } from './changed-fields';
import { type AuditFilter, auditFilters } from './search';

const queryOf = (filters: { readonly [name in AuditFilter]?: string }): Record<string, string> =>
  Object.fromEntries(Object.entries(filters).map(([key, value]) => [`filter[${key}]`, value]));

const pathOf = (path: string, filters: { readonly [name in AuditFilter]?: string }): string => {
  const search = new URLSearchParams(Object.entries(queryOf(filters))).toString();
  return `${path}${search === '' ? '' : `?${search}`}`;
};

/** The audit trail of an organization: changes, downloads, refusals. */
export function Audit() {
  const name = useOrganizationName();
  const [filters] = useFilters<AuditFilter>();
  return (
    <OrganizationPage
      title="Audit"
      path={pathOf('audit-events', filters)}
      about={<p className="second">Every change in this organization, newest first. Secrets are never shown here.</p>}
    >
      <Trail
        name={name}
        to={`/organizations/${encodeURIComponent(name)}/audit`}
        read={(api, query) =>
          api.GET('/api/v2/organizations/{organization_name}/audit-events', {
            params: { path: { organization_name: name }, query },
          })
        }
      />
    </OrganizationPage>
  );
}

/** The events of the installation: accounts, sign-ins with their outcome, settings. */
export function AdminAudit() {
  const [filters] = useFilters<AuditFilter>();
  return (
    <AdminPage title="Audit" path={pathOf('admin/audit-events', filters)}>
      <Trail
        name=""
        to="/admin/audit"
        read={(api, query) => api.GET('/api/v2/admin/audit-events', { params: { query } })}
      />
    </AdminPage>
  );
}

/** The names of an organization's members, or of all accounts; at most one hundred. */
function usePeople(organization_name: string): readonly string[] {
  const query = { 'page[size]': 100 };
  const members = useRead(
    ['audit-members', organization_name],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/organization-memberships', {
        params: { path: { organization_name }, query: { ...query, include: 'user' } },
      }),
    { enabled: organization_name !== '' },
  );
  const accounts = useRead(['audit-accounts'], (api) => api.GET('/api/v2/admin/users', { params: { query } }), {
    enabled: organization_name === '',
  });
  return [
    ...(members.data?.included ?? []).flatMap((one) => (one.type === 'users' ? [one.attributes.username] : [])),
    ...(accounts.data?.data ?? []).map(({ attributes }) => attributes.username),
  ];
}

const outcomes = [
  { value: '', label: 'Any' },
  { value: 'done', label: 'Done' },
  { value: 'refused', label: 'Refused' },
];

type Events = AnswerTo<'/api/v2/organizations/{organization_name}/audit-events'>;

function Trail({
  name,
  to,
  read,
}: {
  /** The name of the organization; empty for the whole installation. */
  readonly name: string;
  readonly to: string;
  readonly read: (api: WorkspacesApi, query: Record<string, string>) => Promise<ApiAnswer<Events>>;
}) {
  const { transport } = useSession();
  const [filters, setFilters] = useFilters<AuditFilter>();
  const events = useInfiniteQuery({
    queryKey: ['api', 'audit', name, filters],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      dataOf(
        read(workspacesApi(transport), {
          ...queryOf(filters),
          'page[size]': '50',
          ...(pageParam === '' ? {} : { 'page[after]': pageParam }),
        }),
      ),
    getNextPageParam: ({ meta }) => (meta?.['next-cursor'] as string | null | undefined) ?? undefined,
  });
  const found = events.data?.pages.flatMap(({ data }) => data) ?? [];
  const people = usePeople(name);
  return (
    <>
      <Search key={JSON.stringify(filters)} people={people} filters={filters} onSearch={setFilters} />
      <ErrorNotice error={events.error} onRetry={() => void events.refetch()} />
      {events.isPending ? <Skeleton rows={8} /> : null}
      {events.data !== undefined && found.length === 0 ? (
        <Empty action={<Link to={to}>Everything</Link>}>No change matches this search.</Empty>
      ) : null}
      {found.length === 0 ? null : (
        <Table
          label="Changes"
          narrow="stacked"
          rows={found}
          keyOf={({ id }) => id}
          columns={[
            { head: 'When', className: 'tight', cell: ({ attributes }) => <Time at={attributes.at} /> },
            {
              head: 'Who',
              cell: ({ attributes: { actor } }) => (
                <Link to={to} search={{ actor: actor.id } as never} title={`${actor.type} ${actor.id}`}>
                  {actor.name || actor.id}
                </Link>
              ),
            },
            { head: 'Action', className: 'tight', cell: ({ attributes }) => <code>{attributes.action}</code> },
            {
              head: 'Outcome',
              className: 'tight',
              cell: ({ attributes }) =>
                attributes.action.includes('.refuse') ? <Badge tone="red">refused</Badge> : <Badge>done</Badge>,
            },
            {
              head: 'What',
              cell: ({ attributes: { target } }) => (
                <>
                  <Link to={to} search={{ target: target.id } as never} title={`${target.type} ${target.id}`}>
                    {target.name || target.id}
                  </Link>
                  <p className="second small">{target.type}</p>
                </>
              ),
            },
            {
              head: 'Change',
              cell: ({ attributes: { before, after } }) => <ChangedFields before={before} after={after} />,
            },
            {
              head: 'Request',
              className: 'tight',
              cell: ({ attributes: { 'request-id': request } }) =>
                request === null ? null : (
                  <span className="copied">
                    <Link to={to} search={{ request } as never}>
                      follow
                    </Link>
                    <CopyButton text={request} what="request id" />
                  </span>
                ),
            },
          ]}
        />
      )}
      {events.hasNextPage ? (
        <span>
          <Button busy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
            Older
          </Button>
        </span>
      ) : null}
    </>
  );
}

function Search({
  people,
  filters,
  onSearch,
}: {
  /** Suggested names; others can be typed. */
  readonly people: readonly string[];
  readonly filters: { readonly [name in AuditFilter]?: string };
  readonly onSearch: (next: { [name in AuditFilter]?: string | undefined }) => void;
}) {
  const [draft, setDraft] = useState<{ [name in AuditFilter]?: string | undefined }>(filters);
  const send = (event: FormEvent) => {
    event.preventDefault();
    onSearch(draft);
  };
  return (
    <search>
      <form className="stack-tight" onSubmit={send}>
        <div className="filters">
          {auditFilters.map(([name, label]) => {
            const value = draft[name] ?? '';
            const onChange = (next: string) => setDraft((before) => ({ ...before, [name]: next }));
            if (name === 'outcome') {
              return <SelectField key={name} label={label} value={value} options={outcomes} onChange={onChange} />;
            }
            if (name === 'since') return <SinceField key={name} label={label} value={value} onChange={onChange} />;
            if (name === 'actor') {
              return (
                <PickerField
                  key={name}
                  label={label}
                  free
                  options={people.map((one) => ({ value: one, label: one }))}
                  chosen={value === '' ? [] : [value]}
                  onChange={(chosen) => onChange(chosen.at(-1) ?? '')}
                  placeholder="Name or id"
                />
              );
            }
            return (
              <TextField
                key={name}
                label={label}
                value={value}
                onChange={onChange}
                {...(name === 'action' ? { placeholder: 'team.update' } : {})}
              />
            );
          })}
        </div>
        <div className="row">
          <Button type="submit" kind="primary">
            Search
          </Button>
          {Object.keys(filters).length === 0 ? null : (
            <Button onClick={() => onSearch(Object.fromEntries(auditFilters.map(([name]) => [name, undefined])))}>
              Everything
            </Button>
          )}
        </div>
      </form>
    </search>
  );
}
