import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints } from '../../../kernel/endpoints/endpoint';
import { CreateAgentToken } from '../../people/tokens/schema';
import { tokenSerializer } from '../../people/tokens/serializer';
import * as tokens from '../../people/tokens/service';
import { poolPolicy } from './policy';
import * as pools from './service';

const { list, post } = endpoints(poolPolicy, tokenSerializer, {
  visible: poolPolicy['can-read'],
  organizationsOf: (item) => (item.organizationId === null ? [] : [item.organizationId]),
});
const tokensPath = '/agent-pools/:pool_id/authentication-tokens';
const load = ({ db, params }: { db: Database; params: { pool_id: string } }) => pools.find(db, params.pool_id);

const listTokens = list(tokensPath, {
  summary: "List the tokens of a pool's agents.",
  requires: 'can-update',
  load,
  run: ({ db, target, page }) => tokens.listOfPool(db, target.id, page),
});

const createToken = post(tokensPath, {
  summary: 'Create a token for the agents of a pool. It is good for nothing else.',
  requires: 'can-update',
  idempotent: false,
  stepUp: true,
  body: CreateAgentToken,
  load,
  run: ({ db, env, target, body, ...call }) => {
    const holder = { kind: 'agent', agentPoolId: target.id, organizationId: target.organizationId } as const;
    return tokens.create(db, env.keyring, actorOf(call), holder, body, env.now());
  },
});

const agents = list('/agent-pools/:pool_id/agents', {
  summary: 'List the agents that have registered with a pool.',
  query: { 'filter[last-ping-since]': 'Only agents heard of at or after this instant.' },
  load,
  // Agents register by the worker protocol, which this service does not speak: there is none to list.
  run: async () => ({ items: [], total: 0 }),
});

/** Endpoints of the agents of a pool and of their tokens. */
export const agentEndpoints = [listTokens, createToken, agents];
