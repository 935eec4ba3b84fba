import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { page } from '../pages';
import { useList } from '../reads';
import type { TokenRecord } from './token-record';

/** The number of tokens on a page. It is small, because each row takes one request. */
const pageSize = 20;

/** Tokens with the details that this session may look up. */
export function TokenTable({ mayLookUp }: { readonly mayLookUp: boolean }) {
  const { transport, session } = useSession();
  const found = useList('auth/token/accessors');
  const [count, setCount] = useState(pageSize);
  const accessors = (found.data ?? []).slice(0, count);
  const tokens = useQueries({
    queries: (mayLookUp ? accessors : []).map((accessor) => ({
      queryKey: ['v1', 'token', accessor],
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      retry: false,
      queryFn: async () =>
        (await transport.call<{ data: TokenRecord }>('POST', '/v1/auth/token/lookup-accessor', { accessor })).data,
    })),
  });
  if (found.error) return <ErrorNotice error={found.error} />;
  if (found.data === undefined) return <Skeleton />;
  const rows = accessors.map((accessor, index) => ({ accessor, token: tokens[index]?.data }));
  return (
    <>
      <Table
        label="Tokens"
        rows={rows}
        keyOf={({ accessor }) => accessor}
        narrow="flow"
        columns={[
          {
            head: 'Name',
            cell: ({ accessor, token }) => (
              <div className="stack-none">
                <span className="row">
                  <Link {...page('/access/tokens', { accessor })}>{token?.display_name || 'token'}</Link>
                  {accessor === session.accessor ? <Badge tone="accent">this session</Badge> : null}
                </span>
                <code className="second small">{accessor}</code>
              </div>
            ),
            sortBy: ({ token }) => token?.display_name ?? '',
          },
          {
            head: 'Policies',
            cell: ({ token }) => (
              <span className="tags">
                {[...(token?.policies ?? []), ...(token?.identity_policies ?? [])].map((name) => (
                  <span key={name} className="tag">
                    {name}
                  </span>
                ))}
              </span>
            ),
          },
          { head: 'Auth path', cell: ({ token }) => (token === undefined ? '…' : <code>{token.path}</code>) },
          {
            head: 'Created',
            className: 'tight',
            cell: ({ token }) => (token === undefined ? '…' : <Time at={token.creation_time * 1000} />),
            sortBy: ({ token }) => token?.creation_time ?? 0,
          },
          {
            head: 'Expires',
            className: 'tight',
            cell: ({ token }) => (token === undefined ? '…' : <Time at={token.expire_time} />),
            sortBy: ({ token }) => (token?.expire_time ? Date.parse(token.expire_time) : Number.MAX_VALUE),
          },
        ]}
      />
      {found.data.length > count ? (
        <div className="row">
          <Button onClick={() => setCount(count + pageSize)}>Load more</Button>
          <span className="second small">
            {count} of {found.data.length.toLocaleString('en')}
          </span>
        </div>
      ) : null}
      <SameBy api="LIST /v1/auth/token/accessors" command="keystead list auth/token/accessors" />
    </>
  );
}
