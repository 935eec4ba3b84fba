import { choice, document, flag, hasOne, label, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { VariableInput } from '../../workspaces/variables/schema';
import * as variables from '../../workspaces/variables/service';
import type { Variable } from '../../workspaces/variables/variable';
import { policyPolicy, readsPolicies } from './policy';
import { findSets, type PolicySet } from './policy-set';

const category = 'policy-set';

const parameterSerializer = serializerOf<Variable>()({
  type: 'vars',
  shape: { key: text, value: text.nullable(), category: choice([category]), sensitive: flag },
  relations: { configurable: hasOne('policy-sets') },
  id: ({ id }) => id,
  self: ({ id, policySetId }) => `/api/v2/policy-sets/${policySetId}/parameters/${id}`,
  attributes: ({ key, value, sensitive }) => ({ key, value: sensitive ? null : value, category, sensitive }),
  relationships: ({ policySetId }) => ({ configurable: toOne('policy-sets', policySetId) }),
});

const key = label(255);
const value = z.string().max(262_144).nullish();
const CreateParameter = document('vars', {
  attributes: { key, value, category: z.literal(category), sensitive: flag.optional() },
});
const UpdateParameter = document('vars', {
  attributes: { key: key.optional(), value, category: z.literal(category).optional(), sensitive: flag.optional() },
});

const list = '/policy-sets/:policy_set_id/parameters';
const byId = `${list}/:parameter_id` as const;
const ofSet = endpoints(policyPolicy, parameterSerializer, {
  visible: readsPolicies,
  organizationsOf: (item) => ('organizationId' in item ? [item.organizationId] : []),
});
const ownerOf = ({ id, organizationId }: PolicySet): variables.Owner => ({ policySetId: id, organizationId });
const load = async ({ db, params }: LookupBy<'policy_set_id'>) => (await findSets(db, [params.policy_set_id]))[0];
const loadOne = async (lookup: LookupBy<'policy_set_id' | 'parameter_id'>) => {
  const set = await load(lookup);
  const parameter = set && (await variables.findOf(lookup.db, ownerOf(set), lookup.params.parameter_id));
  return set && parameter && { ...set, parameter };
};
const inputOf = (body: object): VariableInput => ({ ...body, category }) as unknown as VariableInput;

/** Values for the policies of a set, as `input.parameters`. */
export const parameterEndpoints = [
  ofSet.list(list, {
    summary: 'List the parameters of a policy set.',
    requires: 'can-manage',
    load,
    run: ({ db, target, page }) => variables.list(db, ownerOf(target), page),
  }),
  ofSet.post(list, {
    summary: 'Create a parameter of a policy set.',
    idempotent: false,
    requires: 'can-manage',
    body: CreateParameter,
    load,
    run: ({ db, env, target, body, ...call }) =>
      variables.create(db, env.keyring, actorOf(call), ownerOf(target), inputOf(body)),
  }),
  ofSet.get(byId, {
    summary: 'Show a parameter of a policy set.',
    requires: 'can-manage',
    load: loadOne,
    run: async ({ target }) => target.parameter,
  }),
  ofSet.patch(byId, {
    summary: 'Change a parameter of a policy set.',
    requires: 'can-manage',
    body: UpdateParameter,
    load: loadOne,
    names: (_lookup, { parameter }) => parameter.id,
    run: ({ db, env, target, body, ...call }) =>
      variables.update(db, env.keyring, actorOf(call), ownerOf(target), target.parameter.id, inputOf(body)),
  }),
  ofSet.remove(byId, {
    summary: 'Delete a parameter of a policy set.',
    requires: 'can-manage',
    load: loadOne,
    run: ({ db, target, ...call }) => variables.remove(db, actorOf(call), ownerOf(target), target.parameter),
  }),
];
