import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { Notice } from '../../design/notice';
import { Table } from '../../design/table';
import { useRead } from '../api';
import { Loaded } from '../parts/loaded';
import { Opener } from '../parts/opener';
import { NewSecret } from './new-secret';

/** The connection that a part of its page shows, and why the caller may not change it. */
export interface ConnectionPart {
  readonly client: Resource<'OauthClientsResource'>;
  readonly forbidden: string | undefined;
}

/** The installations of a connection's app, and the settings for its page at GitHub. */
export function App({ client, forbidden }: ConnectionPart) {
  const installations = useInstallations();
  const own = (one: Resource<'GithubAppInstallationsResource'>) =>
    one.relationships['oauth-client'].data?.id === client.id;
  const { problem, 'webhook-url': webhook, 'http-url': http } = client.attributes;
  return (
    <section className="stack-tight" aria-labelledby="app">
      <h2 id="app">The app</h2>
      {problem === null ? null : (
        <Notice tone="amber">The latest attempt to read its installations failed: {problem}</Notice>
      )}
      <dl className="facts">
        <dt>ID</dt>
        <dd>{client.attributes.key}</dd>
        <dt>Its webhook</dt>
        <dd>{webhook === null ? null : <Copied text={webhook} what="address of the webhook" />}</dd>
      </dl>
      <Loaded query={installations} rows={2}>
        {({ data }) =>
          data.filter(own).length === 0 ? (
            <p>
              It is not installed yet. Install it at <code>{http}</code> on the accounts whose repositories workspaces
              follow. Installations appear here within ten minutes, or at once if the webhook is set.
            </p>
          ) : (
            <Table
              label="Installations"
              rows={data.filter(own)}
              keyOf={({ id }) => id}
              columns={[
                {
                  head: 'Account',
                  cell: ({ attributes: { name, 'installation-url': url } }) =>
                    url === null ? (
                      name
                    ) : (
                      <a href={url} rel="noreferrer">
                        {name}
                      </a>
                    ),
                },
                { head: 'Type', className: 'tight', cell: ({ attributes }) => attributes['installation-type'] },
                { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="installation id" /> },
              ]}
            />
          )
        }
      </Loaded>
      <span>
        <Opener label="Replace private key" forbidden={forbidden}>
          {(close) => (
            <NewSecret
              title="Private key"
              label="Private key"
              action="Save key"
              attribute="private-key"
              hint="The previous one is no longer used. Delete it at GitHub afterwards."
              rows={6}
              call={(api, text) =>
                api.PATCH('/api/v2/oauth-clients/{oauth_client_id}', {
                  params: { path: { oauth_client_id: client.id } },
                  body: { data: { type: 'oauth-clients', attributes: { 'private-key': text } } },
                })
              }
              onClose={close}
            />
          )}
        </Opener>
      </span>
    </section>
  );
}

/** The installations of the GitHub Apps of the caller's organizations. */
export const useInstallations = () =>
  useRead(['github-app-installations'], (api) => api.GET('/api/v2/github-app/installations', {}));
