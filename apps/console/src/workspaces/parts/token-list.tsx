import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Time } from '../../design/time';
import { useChange } from '../api';
import { Table } from './table';

type AuthenticationToken = Resource<'AuthenticationTokensResource'>;

/** Tokens without their texts: what they are for, when they were used, when they end; and how to end them now. */
export function TokenList({
  label,
  tokens,
  forbidden,
}: {
  readonly label: string;
  readonly tokens: readonly AuthenticationToken[];
  readonly forbidden?: string | undefined;
}) {
  const [ending, setEnding] = useState<AuthenticationToken>();
  const end = useChange((api, id: string) =>
    api.DELETE('/api/v2/authentication-tokens/{token_id}', { params: { path: { token_id: id } } }),
  );
  return (
    <>
      <Table label={label} head={['Description', 'Id', 'Created', 'Last used', 'Ends', '']}>
        {tokens.map((token) => (
          <tr key={token.id}>
            <td>{token.attributes.description || <span className="second">none</span>}</td>
            <td className="tight">
              <Copied text={token.id} what="token id" />
            </td>
            <td className="tight">
              <Time at={token.attributes['created-at']} />
            </td>
            <td className="tight">
              <Time at={token.attributes['last-used-at']} />
            </td>
            <td className="tight">
              <Time at={token.attributes['expired-at']} />
            </td>
            <td className="tight">
              <Button
                small
                kind="danger"
                forbidden={forbidden}
                onClick={() => setEnding(token)}
                label={`End ${token.attributes.description || token.id}`}
              >
                End
              </Button>
            </td>
          </tr>
        ))}
      </Table>
      <ErrorNotice error={end.error} />
      {ending === undefined ? null : (
        <Confirm
          title="End this token?"
          action="End token"
          danger
          onClose={() => setEnding(undefined)}
          onConfirm={() => {
            end.mutate(ending.id);
            setEnding(undefined);
          }}
        >
          <p>
            {ending.attributes.description || ending.id}: whatever still uses it is refused from now on, on every node.
          </p>
        </Confirm>
      )}
    </>
  );
}
