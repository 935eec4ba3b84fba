import { useEffect, useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { useChange } from '../api';
import { takeReturned } from './return-parameters';

/** Connects a host by OAuth in the browser, if an OAuth application is configured for the connection. */
export function InBrowser({
  client,
  forbidden,
}: {
  readonly client: Resource<'OauthClientsResource'>;
  readonly forbidden: string | undefined;
}) {
  const host = client.attributes['service-provider-display-name'];
  const params = { path: { oauth_client_id: client.id } };
  const [returned] = useState(takeReturned);
  const refused = returned !== undefined && !returned.get('code');
  const leave = useChange(
    (api) => api.POST('/api/v2/oauth-clients/{oauth_client_id}/authorizations', { params }),
    ({ data }) => {
      if (data) location.assign(data.attributes['authorize-url']);
    },
  );
  const agree = useChange((api, attributes: { code: string; state: string }) =>
    api.POST('/api/v2/oauth-clients/{oauth_client_id}/oauth-tokens', {
      params,
      body: { data: { type: 'oauth-tokens', attributes } },
    }),
  );
  const { mutate } = agree;
  useEffect(() => {
    const code = returned?.get('code');
    if (code) mutate({ code, state: returned?.get('state') ?? '' });
  }, [returned, mutate]);
  if (!client.attributes.key || client.attributes['service-provider'] === 'github_app') return null;
  return (
    <section className="stack-tight" aria-labelledby="in-browser">
      <h2 id="in-browser">Connect in the browser</h2>
      <p className="second">
        The application that is registered at {host} needs the redirect URL{' '}
        <Copied text={client.attributes['callback-url']} what="callback address" />
      </p>
      {agree.isSuccess ? <Notice tone="green">Connected.</Notice> : null}
      {refused ? (
        <Notice tone="amber">
          {host} was not agreed to ({returned?.get('error') || 'no reason given'}).
        </Notice>
      ) : null}
      <ErrorNotice error={leave.error ?? agree.error} />
      <div className="row">
        <Button forbidden={forbidden} busy={leave.isPending || agree.isPending} onClick={() => leave.mutate()}>
          Connect at {host}
        </Button>
      </div>
    </section>
  );
}
