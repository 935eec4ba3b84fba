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
  summary: 'List the tokens of an agent pool.',
  requires: 'can-update',
  load,
  run: ({ db, target, page }) => tokens.listOfPool(db, target.id, page),
});

const createToken = post(tokensPath, {
  summary: 'Create a token for the agents of a pool. It is valid only for agents.',
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

/** Endpoints of the tokens of a pool; revoking a token ends the agents that registered with it. */
export const agentTokenEndpoints = [listTokens, createToken];
