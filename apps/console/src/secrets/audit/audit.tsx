import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied, CopyButton } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { saveFile } from '../../design/save-file';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { page, useAddress } from '../pages';
import { useRead } from '../reads';
import { AuditTabs, Author, SearchForm } from './parts';
import { type AuditSearch, filters, isAskedByPages } from './search';

/** One line of the audit table. */
export interface AuditLine {
  readonly chain: string;
  readonly sequence: number;
  readonly line: number;
  readonly entry: {
    readonly time: string;
    readonly type: string;
    readonly error?: string;
    readonly auth?: { readonly display_name?: string; readonly entity_id?: string };
    readonly request?: {
      readonly id?: string;
      readonly operation?: string;
      readonly path?: string;
      readonly remote_address?: string;
      readonly namespace?: { readonly path?: string };
    };
  };
}
interface AuditAnswer {
  readonly data: { readonly entries: readonly AuditLine[]; readonly next: string | null };
}

/** The audit table: search, details of a request, and verification of its hash chains. */
export function Audit() {
  const { transport } = useSession();
  const search = useAddress('/audit');
  const navigate = useNavigate();
  const found = useInfiniteQuery({
    queryKey: ['v1', 'audit', search],
    initialPageParam: '',
    queryFn: async ({ pageParam }) => {
      const { own, ...filters } = search;
      const query = new URLSearchParams({ limit: '100', ...filters });
      if (pageParam !== '') query.set('after', pageParam);
      return (await transport.call<AuditAnswer>('GET', `/v1/sys/audit-chain/entries?${query}`)).data;
    },
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const look = (next: AuditSearch) => void navigate(page('/audit', next));
  const all = found.data?.pages.flatMap(({ entries }) => entries) ?? [];
  // A search by request or path includes requests of the console.
  const lines =
    search.own || search.request_id || search.path
      ? all
      : all.filter(({ entry }) => !isAskedByPages(entry.request?.path ?? ''));
  return (
    <div className="stack">
      <PageHead title="Audit">
        <p className="second">
          Requests that changed something. Values are shown as keyed hashes and cannot be read back. Refused requests
          and the status of every answer are in the lines of the audit devices.
        </p>
      </PageHead>
      <AuditTabs />
      <Chain />
      <SearchForm filters={filters} search={search} onSearch={look}>
        {({ own: _, ...draft }) => (
          <CheckField
            label="Include requests that the console makes in the background"
            checked={search.own === true}
            onChange={(own) => look({ ...draft, ...(own ? { own } : {}) })}
          />
        )}
      </SearchForm>
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {found.data !== undefined && lines.length === 0 ? (
        <Empty command={Object.keys(search).length === 0 ? 'SECRETS_AUDIT_TABLE=on' : undefined}>
          {Object.keys(search).length === 0
            ? 'The audit table is empty. The service writes it, in addition to its audit devices, if this setting is on:'
            : 'Nothing in the audit table matches this search. The table contains only changes; the page Reads shows who read which secret.'}
        </Empty>
      ) : null}
      {lines.length === 0 ? null : (
        <Table
          label="Audit entries"
          narrow="flow"
          rows={lines}
          keyOf={({ chain, sequence, line }) => `${chain} ${sequence} ${line}`}
          columns={[
            { head: 'When', className: 'tight', cell: ({ entry }) => <Time at={entry.time} /> },
            {
              head: 'What',
              className: 'tight',
              cell: ({ entry: { error, request, type } }) => (
                <Badge tone={error === undefined ? 'plain' : 'red'}>
                  {request?.operation ?? ''} {type === 'request' ? '' : type}
                </Badge>
              ),
            },
            {
              head: 'Path',
              cell: ({ entry: { error, request } }) => (
                <>
                  <code>
                    {request?.namespace?.path ?? ''}
                    {request?.path ?? ''}
                  </code>
                  {error === undefined ? null : <p className="small removed">{error}</p>}
                </>
              ),
            },
            {
              head: 'Who',
              cell: ({ entry }) => <Author auth={entry.auth} />,
            },
            { head: 'From', cell: ({ entry }) => entry.request?.remote_address },
            {
              head: 'Request',
              className: 'tight',
              cell: ({ entry }) => {
                const id = entry.request?.id;
                if (id === undefined) return null;
                return (
                  <span className="row">
                    <Link {...page('/audit', { request_id: id })}>follow</Link>
                    <CopyButton text={id} what="request id" />
                  </span>
                );
              },
            },
          ]}
        />
      )}
      {found.hasNextPage ? (
        <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Older
        </Button>
      ) : null}
      <SameBy
        api={`GET /v1/sys/audit-chain/entries?${new URLSearchParams(Object.entries(search).filter(([name]) => name !== 'own') as [string, string][])}`}
        command="keystead read sys/audit-chain/entries"
      />
    </div>
  );
}

interface Head {
  readonly chain: string;
  readonly sequence: number;
  readonly digest: string;
}
interface Verified {
  readonly data: {
    readonly valid: boolean;
    readonly rows: number;
    readonly problems: readonly string[];
    readonly next: Head | null;
  };
}

/** Verification of the hash chains, and their latest hashes. */
function Chain() {
  const { transport } = useSession();
  const heads = useRead<{ heads: readonly Head[] }>('sys/audit-chain');
  const [failure, setFailure] = useState<unknown>();
  const [result, setResult] = useState<{ rows: number; problems: readonly string[]; done: boolean }>();
  const verify = async () => {
    let rows = 0;
    const problems: string[] = [];
    let after: Head | null = null;
    do {
      const body: object = after === null ? {} : { after };
      const { data }: Verified = await transport.call<Verified>('POST', '/v1/sys/audit-chain/verify', body);
      rows += data.rows;
      problems.push(...data.problems);
      after = data.next;
      setResult({ rows, problems, done: after === null });
    } while (after !== null);
  };
  const download = () =>
    saveFile('audit-chain-heads.json', JSON.stringify(heads.data?.heads ?? [], null, 2), 'application/json');
  if (heads.error !== null) return null;
  return (
    <details>
      <summary>
        Tamper evidence: {heads.data?.heads.length ?? '…'} {heads.data?.heads.length === 1 ? 'chain' : 'chains'}
        {result?.done ? (
          <Badge tone={result.problems.length === 0 ? 'green' : 'red'}>
            {result.problems.length === 0
              ? `all ${result.rows.toLocaleString()} links are valid`
              : `${result.problems.length} problems`}
          </Badge>
        ) : null}
      </summary>
      <div className="stack-tight">
        <p className="second">
          Store these chain heads elsewhere: a later comparison with them shows whether the end of the table was
          removed.
        </p>
        <ul className="list">
          {heads.data?.heads.map((head) => (
            <li key={head.chain}>
              <span className="grow">
                <Copied text={`${head.chain} ${head.sequence} ${head.digest}`} what="head" />
              </span>
            </li>
          ))}
        </ul>
        {result === undefined || result.problems.length === 0 ? null : (
          <Notice tone="red" alert>
            {result.problems.map((problem) => (
              <span key={problem}>{problem}</span>
            ))}
          </Notice>
        )}
        <div className="row">
          <Button onClick={() => verify().catch(setFailure)} busy={result !== undefined && !result.done}>
            Verify
          </Button>
          <Button onClick={download}>Download the ends</Button>
          {result !== undefined && !result.done ? (
            <span role="status">{result.rows.toLocaleString()} rows so far</span>
          ) : null}
        </div>
        <ErrorNotice error={failure} />
      </div>
    </details>
  );
}
