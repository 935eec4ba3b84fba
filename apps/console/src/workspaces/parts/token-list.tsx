import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { Time } from '../../design/time';
import type { ApiCall } from '../api';
import { RemoveButton } from './remove-button';
import { Table } from './table';

type AuthenticationToken = Resource<'AuthenticationTokensResource'>;

/** Tokens without their texts: what they are for, when they were used, when they end; and how to end them now. */
export function TokenList({
  label,
  tokens,
  forbidden,
  end = (token_id) => (api) =>
    api.DELETE('/api/v2/authentication-tokens/{token_id}', { params: { path: { token_id } } }),
}: {
  readonly label: string;
  readonly tokens: readonly AuthenticationToken[];
  readonly forbidden?: string | undefined;
  /** What ends one by its id, where they are kept apart. */
  readonly end?: (id: string) => ApiCall;
}) {
  return (
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
            <RemoveButton
              text="End"
              label={`End ${token.attributes.description || token.id}`}
              action="End token"
              title="End this token?"
              forbidden={forbidden}
              call={end(token.id)}
            >
              <p>
                {token.attributes.description || token.id}: whatever still uses it is refused from now on, on every
                node.
              </p>
            </RemoveButton>
          </td>
        </tr>
      ))}
    </Table>
  );
}
