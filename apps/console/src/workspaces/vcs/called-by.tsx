import { useState } from 'react';
import { SettingsForm } from '../../design/form';
import { useChange } from '../api';
import { ChoiceField } from '../parts/choice-field';
import type { ConnectionPart } from './app';

/** Chooses who sends requests to the host of a connection: the service, or agents in the network of the host. */
export function CalledBy({ client, organization, forbidden }: ConnectionPart & { readonly organization: string }) {
  const was = client.relationships['agent-pool'].data?.id ?? '';
  const [pool, setPool] = useState(was);
  const save = useChange((api) =>
    api.PATCH('/api/v2/oauth-clients/{oauth_client_id}', {
      params: { path: { oauth_client_id: client.id } },
      body: {
        data: {
          type: 'oauth-clients',
          relationships: { 'agent-pool': { data: pool === '' ? null : { type: 'agent-pools', id: pool } } },
        },
      },
    }),
  );
  const draft = { isChanged: pool !== was, reset: () => setPool(was) };
  return (
    <SettingsForm
      title="Agent pool that calls the host"
      draft={draft}
      change={save}
      forbidden={forbidden}
      onSend={() => save.mutate()}
    >
      <p className="second">
        Agents of a pool call hosts that only they can reach, if they are started with{' '}
        <code>AGENT_REQUEST_FORWARDING</code>.
      </p>
      <ChoiceField
        label="Agent pool"
        kind="agent pools"
        organization={organization}
        value={pool}
        onChange={setPool}
        none="none: the service itself"
      />
    </SettingsForm>
  );
}
