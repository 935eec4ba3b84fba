import { useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField } from '../../design/field';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { Loaded } from '../parts/loaded';
import { NewToken } from '../parts/new-token';
import { SameByApi } from '../parts/same-by-api';
import { TokenList } from '../parts/token-list';
import { Agents } from './agents';

type PoolResource = Resource<'AgentPoolsResource'>;

/** One agent pool: its agents, their tokens, and the projects and workspaces that may use it. */
export function Pool() {
  const organization = useOrganizationName();
  const { pool: id = '' } = useParams({ strict: false }) as { pool?: string };
  const found = useOrganization();
  const params = { path: { pool_id: id }, query: { include: 'workspaces' } };
  const pool = useRead(['agent-pool', id], (api) => api.GET('/api/v2/agent-pools/{pool_id}', { params }));
  const name = pool.data?.data?.attributes.name;
  const may = found.data?.data?.attributes.permissions['can-update-agent-pools'];
  return (
    <div className="stack">
      <PageHead
        title={name ?? 'Agent pool'}
        crumbs={organizationCrumbs(
          organization,
          { label: 'Agents', to: `/organizations/${encodeURIComponent(organization)}/agents` },
          { label: name ?? '…' },
        )}
      />
      <Loaded query={pool} rows={6}>
        {({ data, included }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.id} what="pool id" />
                </dd>
                <dt>Created</dt>
                <dd>
                  <Time at={data.attributes['created-at']} />
                </dd>
                <dt>Used by</dt>
                <dd>
                  {included === undefined || included.length === 0
                    ? 'no workspace'
                    : included.map(({ attributes }) => attributes.name).join(', ')}
                </dd>
              </dl>
              <Agents pool={data.id} may={may} />
              <Tokens pool={data} may={may} />
              <Scope pool={data} may={may} />
              <Removal pool={data} organization={organization} may={may} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`agent-pools/${id}`} />
    </div>
  );
}

interface PartProps {
  readonly pool: PoolResource;
  readonly may: boolean | undefined;
}

function Tokens({ pool, may }: PartProps) {
  const path = { pool_id: pool.id };
  const tokens = useRead(
    ['agent-pool', pool.id, 'tokens'],
    (api) =>
      api.GET('/api/v2/agent-pools/{pool_id}/authentication-tokens', {
        params: { path, query: { 'page[size]': 100 } },
      }),
    { enabled: may === true },
  );
  const making = useChange((api, { description }: { description: string | null }) =>
    api.POST('/api/v2/agent-pools/{pool_id}/authentication-tokens', {
      params: { path },
      body: { data: { type: 'authentication-tokens', attributes: { description: description ?? '' } } },
    }),
  );
  const forbidden = rule(may, 'can-update-agent-pools');
  return (
    <section className="stack-tight" aria-labelledby="tokens">
      <h2 id="tokens">Agent tokens</h2>
      {may === true ? (
        <TokenList
          label="Agent tokens"
          query={tokens}
          outline={1}
          empty={<Empty>Agents authenticate with a token of their pool. It gives no other access.</Empty>}
        />
      ) : null}
      <NewToken
        making={making}
        action="Create token"
        endless
        forbidden={forbidden}
        hint="Required, such as the name of the machine."
      />
    </section>
  );
}

function Scope({ pool, may }: PartProps) {
  const isOpen = pool.attributes['organization-scoped'];
  const change = useChange((api, open: boolean) =>
    api.PATCH('/api/v2/agent-pools/{pool_id}', {
      params: { path: { pool_id: pool.id } },
      body: { data: { type: 'agent-pools', attributes: { 'organization-scoped': open } } },
    }),
  );
  const { 'allowed-projects': projects, 'allowed-workspaces': workspaces } = pool.relationships;
  const forbidden = rule(may, 'can-update-agent-pools');
  return (
    <section className="stack-tight" aria-labelledby="scope">
      <h2 id="scope">Scope</h2>
      <CheckField
        label="The whole organization"
        checked={change.isPending ? change.variables : isOpen}
        onChange={(open) => {
          if (forbidden === undefined) change.mutate(open);
        }}
        hint={forbidden ?? 'Otherwise only the projects and workspaces that may use it.'}
      />
      {isOpen ? null : (
        <ul className="list">
          {projects.data.length + workspaces.data.length === 0 ? <li>Nothing may use it yet.</li> : null}
          {[...projects.data, ...workspaces.data].map(({ id, type }) => (
            <li key={id}>
              <span className="second">{type === 'projects' ? 'Project' : 'Workspace'}</span>
              <Copied text={id} what="id" />
            </li>
          ))}
        </ul>
      )}
      <ErrorNotice error={change.error} />
    </section>
  );
}

function Removal({ pool, organization, may }: PartProps & { readonly organization: string }) {
  const uses = pool.relationships.workspaces.data.length;
  const used = uses > 0 ? `${uses} workspaces use it: give them another pool first.` : undefined;
  return (
    <DangerZone
      what="agent pool"
      name={pool.attributes.name}
      call={(api) => api.DELETE('/api/v2/agent-pools/{pool_id}', { params: { path: { pool_id: pool.id } } })}
      to={`/organizations/${encodeURIComponent(organization)}/agents`}
      forbidden={rule(may, 'can-update-agent-pools') ?? used}
    >
      The tokens of its agents are revoked.
    </DangerZone>
  );
}
