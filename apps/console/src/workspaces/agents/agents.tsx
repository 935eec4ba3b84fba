import type { Resource } from '../../api/workspaces';
import { Badge, type Tone } from '../../design/badge';
import { Copied } from '../../design/copy';
import { Empty } from '../../design/page';
import { Time } from '../../design/time';
import { rule, useRead } from '../api';
import { useFilters } from '../filters';
import { Loaded } from '../parts/loaded';
import { Pages } from '../parts/pages';
import { RemoveButton } from '../parts/remove-button';
import { Table } from '../parts/table';

type AgentResource = Resource<'AgentsResource'>;
type AgentStatus = AgentResource['attributes']['status'];

const states: Readonly<Record<AgentStatus, readonly [Tone, string]>> = {
  idle: ['green', 'waits for a run'],
  busy: ['accent', 'works on a run'],
  unknown: ['amber', 'nothing heard for two minutes'],
  exited: ['plain', 'signed off'],
  errored: ['red', 'its token has ended'],
};

const command = (): string =>
  `AGENT_ADDRESS=${location.origin} AGENT_TOKEN=… AGENT_NAME="$(hostname)" node apps/workspaces/dist/worker-main.js agent`;

/** The agents that registered with a pool: what each does, and when it was heard of. */
export function Agents({ pool, may }: { readonly pool: string; readonly may: boolean | undefined }) {
  const [filters, setFilters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const agents = useRead(
    ['agent-pool', pool, 'agents', query],
    (api) => api.GET('/api/v2/agent-pools/{pool_id}/agents', { params: { path: { pool_id: pool }, query } }),
    { everyMs: 10_000, keeps: true },
  );
  return (
    <section className="stack-tight" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <Loaded query={agents} rows={2}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty command={command()}>
              None has registered yet. Make a token below, and start one in the network that its runs are about: it asks
              for work over HTTPS, and nothing has to reach it.
            </Empty>
          ) : (
            <>
              <Table label="Agents" head={['Name', 'Status', 'Heard of', 'Address', 'Version', 'Tools', 'Id', '']}>
                {data.map((agent) => (
                  <Row key={agent.id} agent={agent} may={may} />
                ))}
              </Table>
              <Pages pagination={meta?.pagination} onPage={(page) => setFilters({ page })} />
            </>
          )
        }
      </Loaded>
    </section>
  );
}

function Row({ agent, may }: { readonly agent: AgentResource; readonly may: boolean | undefined }) {
  const { name, status, version } = agent.attributes;
  const [tone, meaning] = states[status];
  const connected = status === 'idle' || status === 'busy' ? 'It is connected: stop it first.' : undefined;
  return (
    <tr>
      <td>{name}</td>
      <td className="tight">
        <span className="row">
          <Badge tone={tone}>{status}</Badge>
          <span className="second">{meaning}</span>
        </span>
      </td>
      <td className="tight">
        <Time at={agent.attributes['last-ping-at']} />
      </td>
      <td className="tight">
        <code>{agent.attributes['ip-address']}</code>
      </td>
      <td className="tight">{version}</td>
      <td>{agent.attributes['tool-versions'].join(', ')}</td>
      <td className="tight">
        <Copied text={agent.id} what="agent id" />
      </td>
      <td className="tight">
        <RemoveButton
          text="Delete"
          label={`Delete ${name}`}
          title={`Delete ${name}?`}
          forbidden={rule(may, 'can-update-agent-pools') ?? connected}
          call={(api) => api.DELETE('/api/v2/agents/{agent_id}', { params: { path: { agent_id: agent.id } } })}
        >
          <p>It is forgotten here. If it is started again, it registers as a new one.</p>
        </RemoveButton>
      </td>
    </tr>
  );
}
