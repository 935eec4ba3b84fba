import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Pagination, Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Copied } from '../../design/copy';
import { Time } from '../../design/time';
import type { ApiCall } from '../api';
import { RemoveButton } from './remove-button';
import { ResourceTable } from './resource-table';

interface TokensAnswer {
  readonly data: readonly Resource<'AuthenticationTokensResource'>[];
  readonly meta?: { readonly pagination?: Pagination };
}

const weekMs = 7 * 86_400_000;
const isSoon = (end: string | null): boolean => {
  const msLeft = end === null ? Number.NaN : Date.parse(end) - Date.now();
  return msLeft > 0 && msLeft < weekMs;
};

/** Tokens without their values: description, last use, expiry, and a button to revoke each. */
export function TokenList({
  forbidden,
  end = (token_id) => (api) =>
    api.DELETE('/api/v2/authentication-tokens/{token_id}', { params: { path: { token_id } } }),
  ...table
}: {
  readonly label: string;
  readonly query: UseQueryResult<TokensAnswer>;
  readonly empty: ReactNode;
  readonly paged?: boolean;
  readonly outline: number;
  readonly forbidden?: string | undefined;
  /** Revokes a token by its id. Only needed if tokens of this kind have a separate endpoint. */
  readonly end?: (id: string) => ApiCall;
}) {
  return (
    <ResourceTable
      {...table}
      columns={[
        {
          head: 'Description',
          cell: ({ attributes }) => attributes.description || <span className="second">none</span>,
        },
        { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="token id" /> },
        { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        { head: 'Last used', className: 'tight', cell: ({ attributes }) => <Time at={attributes['last-used-at']} /> },
        {
          head: 'Expires',
          className: 'tight',
          cell: ({ attributes: { 'expired-at': end } }) => (
            <span className="row">
              <Time at={end} />
              {isSoon(end) ? <Badge tone="amber">soon</Badge> : null}
            </span>
          ),
        },
        {
          head: '',
          className: 'tight',
          cell: ({ id, attributes: { description } }) => (
            <RemoveButton
              text="Revoke"
              label={`Revoke ${description || id}`}
              action="Revoke token"
              title="Revoke this token?"
              forbidden={forbidden}
              call={end(id)}
            >
              <p>{description || id}: requests with this token are refused from now on, on every node.</p>
            </RemoveButton>
          ),
        },
      ]}
    />
  );
}
