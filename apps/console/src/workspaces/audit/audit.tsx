import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { taken } from '../../api/transport';
import { type Resource, workspacesApi } from '../../api/workspaces';
import { Button } from '../../design/button';
import { CopyButton } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Empty, PageHead, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { organizationCrumbs, useOrganizationName } from '../api';
import { useFilters } from '../filters';
import { SameByApi } from '../parts/same-by-api';
import { Table } from '../parts/table';
import { Changed } from './changed';
import { type AuditFilter, auditFilters } from './search';

/** Who changed what in an organization: searched, and one request followed. */
export function Audit() {
  const name = useOrganizationName();
  const { transport } = useSession();
  const [filters, setFilters] = useFilters<AuditFilter>();
  const query = Object.fromEntries(Object.entries(filters).map(([key, value]) => [`filter[${key}]`, value]));
  const events = useInfiniteQuery({
    queryKey: ['api', 'audit', name, filters],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      taken(
        workspacesApi(transport).GET('/api/v2/organizations/{organization_name}/audit-events', {
          params: {
            path: { organization_name: name },
            query: { ...query, 'page[size]': '50', ...(pageParam === '' ? {} : { 'page[after]': pageParam }) },
          },
        }),
      ),
    getNextPageParam: ({ meta }) => (meta?.['next-cursor'] as string | null | undefined) ?? undefined,
  });
  const found = events.data?.pages.flatMap(({ data }) => data) ?? [];
  const search = new URLSearchParams(Object.entries(query)).toString();
  return (
    <div className="stack">
      <PageHead title="Audit" crumbs={organizationCrumbs(name, { label: 'Audit' })}>
        <p className="second">Every change in this organization, newest first. What is secret stands nowhere here.</p>
      </PageHead>
      <Search key={JSON.stringify(filters)} filters={filters} onSearch={setFilters} />
      <ErrorNotice error={events.error} onRetry={() => void events.refetch()} />
      {events.isPending ? <Skeleton rows={8} /> : null}
      {events.data !== undefined && found.length === 0 ? (
        <Empty action={<Link to={`/organizations/${encodeURIComponent(name)}/audit`}>Everything</Link>}>
          No change fits this search.
        </Empty>
      ) : null}
      {found.length === 0 ? null : (
        <Table label="Changes" head={['When', 'Who', 'Action', 'What', 'Change', 'Request']}>
          {found.map((event) => (
            <Row key={event.id} event={event} organization={name} />
          ))}
        </Table>
      )}
      {events.hasNextPage ? (
        <span>
          <Button busy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
            Older
          </Button>
        </span>
      ) : null}
      <SameByApi path={`organizations/${name}/audit-events${search === '' ? '' : `?${search}`}`} />
    </div>
  );
}

function Row({
  event,
  organization,
}: {
  readonly event: Resource<'AuditEventsResource'>;
  readonly organization: string;
}) {
  const { at, actor, action, target, before, after, 'request-id': request } = event.attributes;
  const to = `/organizations/${encodeURIComponent(organization)}/audit`;
  return (
    <tr>
      <td className="tight">
        <Time at={at} />
      </td>
      <td>
        <Link to={to} search={{ actor: actor.id } as never} title={`${actor.type} ${actor.id}`}>
          {actor.name || actor.id}
        </Link>
      </td>
      <td className="tight">
        <code>{action}</code>
      </td>
      <td>
        <Link to={to} search={{ target: target.id } as never} title={`${target.type} ${target.id}`}>
          {target.name || target.id}
        </Link>
        <p className="second small">{target.type}</p>
      </td>
      <td>
        <Changed before={before} after={after} />
      </td>
      <td className="tight">
        {request === null ? null : (
          <span className="copied">
            <Link to={to} search={{ request } as never}>
              follow
            </Link>
            <CopyButton text={request} what="request id" />
          </span>
        )}
      </td>
    </tr>
  );
}

function Search({
  filters,
  onSearch,
}: {
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
          {auditFilters.map(([name, label]) => (
            <TextField
              key={name}
              label={label}
              type={name === 'actor' ? 'search' : 'text'}
              value={draft[name] ?? ''}
              onChange={(value) => setDraft((before) => ({ ...before, [name]: value }))}
              {...(name === 'since' ? { placeholder: '2026-01-31T12:00:00Z' } : {})}
              {...(name === 'action' ? { placeholder: 'team.update' } : {})}
            />
          ))}
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
