import type { Resource } from '../../api/workspaces';
import { Badge, type Tone } from '../../design/badge';
import { Copied } from '../../design/copy';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useRead } from '../api';
import { useFilters } from '../filters';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';

type AgentStatus = Resource<'AgentsResource'>['attributes']['status'];

const states: Readonly<Record<AgentStatus, readonly [Tone, string]>> = {
  idle: ['green', 'waiting for runs'],
  busy: ['accent', 'carrying out a run'],
  unknown: ['amber', 'not heard from for two minutes'],
  exited: ['plain', 'signed off'],
  errored: ['red', 'its token was revoked'],
};

const connected = (status: AgentStatus) =>
  status === 'idle' || status === 'busy' ? 'It is connected: stop it first.' : undefined;

const image = 'localhost/keystead/agent:local';
const command = (): string =>
  `docker run --detach --restart unless-stopped --env AGENT_ADDRESS=${location.origin} --env AGENT_TOKEN=… --env AGENT_NAME="$(hostname)" ${image}`;

/** The agents that registered with a pool: the status of each agent, and when it last reported. */
export function Agents({ pool, may }: { readonly pool: string; readonly may: boolean | undefined }) {
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const agents = useRead(
    ['agent-pool', pool, 'agents', query],
    (api) => api.GET('/api/v2/agent-pools/{pool_id}/agents', { params: { path: { pool_id: pool }, query } }),
    { everyMs: 10_000, keeps: true },
  );
  return (
    <section className="stack-tight" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <ResourceTable
        label="Agents"
        query={agents}
        paged
        outline={2}
        empty={
          <Empty command={command()}>
            No agent has registered yet. Create a token below, and start an agent in the network that its runs must
            reach: with this command, docker compose or the systemd unit <code>keystead-agent.service</code>. It asks
            for work over HTTPS, and nothing has to reach it.
          </Empty>
        }
        columns={[
          { head: 'Name', cell: ({ attributes }) => attributes.name },
          {
            head: 'Status',
            className: 'tight',
            cell: ({ attributes: { status } }) => (
              <span className="row">
                <Badge tone={states[status][0]}>{status}</Badge>
                <span className="second">{states[status][1]}</span>
              </span>
            ),
          },
          { head: 'Last seen', className: 'tight', cell: ({ attributes }) => <Time at={attributes['last-ping-at']} /> },
          { head: 'Address', className: 'tight', cell: ({ attributes }) => <code>{attributes['ip-address']}</code> },
          { head: 'Version', className: 'tight', cell: ({ attributes }) => attributes.version },
          { head: 'Tools', cell: ({ attributes }) => attributes['tool-versions'].join(', ') },
          { head: 'ID', className: 'tight', cell: ({ id }) => <Copied text={id} what="agent id" /> },
          {
            head: '',
            className: 'tight',
            cell: ({ id, attributes: { name, status } }) => (
              <RemoveButton
                text="Delete"
                label={`Delete ${name}`}
                title={`Delete ${name}?`}
                forbidden={rule(may, 'can-update-agent-pools') ?? connected(status)}
                call={(api) => api.DELETE('/api/v2/agents/{agent_id}', { params: { path: { agent_id: id } } })}
              >
                <p>The agent is removed from this list. If it starts again, it registers as a new agent.</p>
              </RemoveButton>
            ),
          },
        ]}
      />
    </section>
  );
}
