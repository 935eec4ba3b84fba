import type { WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Lookup } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { CreateVariable, UpdateVariable } from '../variables/schema';
import { variableSerializer } from '../variables/serializer';
import * as variables from '../variables/service';
import type { Variable } from '../variables/variable';
import { workspacePolicy } from '../workspaces/policy';
import * as workspaces from '../workspaces/workspace';
import { effectiveVariableSerializer } from './effective-serializer';
import { effectiveVariables, finalVariables, variablesWithOverrides } from './effective-variables';
import { variableSetPolicy } from './policy';
import { reaches, searchVariables } from './reads';
import * as sets from './service';
import type { VariableSet } from './variable-set';

// The rules of a set apply to its variables.
const varsPath = '/varsets/:varset_id/relationships/vars';
const varPath = '/varsets/:varset_id/relationships/vars/:variable_id';
const organizationsOf = (item: object) => ('organizationId' in item ? [String(item.organizationId)] : []);
const ofVariables = endpoints(variableSetPolicy, variableSerializer, {
  visible: variableSetPolicy['can-read'],
  organizationsOf,
});
const ownerOf = ({ id, organizationId }: VariableSet): variables.Owner => ({ variableSetId: id, organizationId });

const listVariables = ofVariables.list(varsPath, {
  summary: 'List the variables of a set.',
  paging: 'optional',
  requires: 'can-read',
  load: ({ db, params }) => sets.find(db, params.varset_id),
  run: ({ db, target, page }) => variables.list(db, ownerOf(target), page),
});
const search = endpoints(organizationPolicy, variableSerializer, {
  visible: (access, organization) => access.isMember(organization.organizationId),
  organizationsOf,
}).list('/organizations/:organization_name/vars', {
  summary:
    'Find variables by key, in the workspaces and variable sets that the caller can read. Values are not searched.',
  query: { q: 'Part of the key, ignoring case.' },
  include: ['configurable', 'varset'],
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, query, page }) => searchVariables(db, access, target.id, query.get('q') ?? '', page),
});
const ofWorkspace = endpoints(workspacePolicy, variableSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
});
const inForce = ofWorkspace.list('/workspaces/:workspace_id/all-vars', {
  summary: 'List the effective variables of a workspace: its own, and those of variable sets that are not overwritten.',
  paging: 'none',
  requires: 'can-read-variable',
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async ({ db, target }) => ({ items: await finalVariables(db, target.id) }),
});
const effective = endpoints(workspacePolicy, effectiveVariableSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf,
}).list('/workspaces/:workspace_id/effective-variables', {
  summary:
    'List the variables that runs of a workspace use: for each key, its effective value, the source of this value, and the values that it overwrites.',
  paging: 'none',
  requires: 'can-read-variable',
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: async ({ db, target }) => ({ items: await effectiveVariables(db, target) }),
});

const standingPath = '/workspaces/:workspace_id/varsets/:varset_id/relationships/vars';
async function loadReached(db: Database, workspaceId: string, setId: string) {
  const workspace = await workspaces.find(db, workspaceId);
  return workspace && (await reaches(db, setId, workspace)) ? workspace : undefined;
}
const listInWorkspace = ofWorkspace.list(standingPath, {
  summary:
    'List the variables of a set as they apply to a workspace, with the variables that they overwrite or that overwrite them.',
  paging: 'none',
  requires: 'can-read-variable',
  load: ({ db, params }) => loadReached(db, params.workspace_id, params.varset_id),
  run: async ({ db, target, params }) => ({ items: await variablesWithOverrides(db, target, params.varset_id) }),
});
const oneStanding = ofWorkspace.get(`${standingPath}/:variable_id`, {
  summary:
    'Show a variable of a set as it applies to a workspace, with the variables that it overwrites or that overwrite it.',
  requires: 'can-read-variable',
  load: async ({ db, params }) => {
    const workspace = await loadReached(db, params.workspace_id, params.varset_id);
    const all = workspace && (await variablesWithOverrides(db, workspace, params.varset_id));
    const variable = all?.find(({ id }) => id === params.variable_id);
    return workspace && variable && { ...workspace, variable };
  },
  run: async ({ target }) => target.variable,
});
const createVariable = ofVariables.post(varsPath, {
  summary: 'Create a variable in a set.',
  requires: 'can-update',
  body: CreateVariable,
  load: ({ db, params }) => sets.find(db, params.varset_id),
  run: ({ db, env, target, body, ...call }) => variables.create(db, env.keyring, actorOf(call), ownerOf(target), body),
});

interface SetVariable extends VariableSet {
  readonly variable: Variable;
}
async function loadVariable({ db, params }: Lookup<typeof varPath>): Promise<SetVariable | undefined> {
  const set = await sets.find(db, params.varset_id);
  const variable = set && (await variables.findOf(db, ownerOf(set), params.variable_id));
  return set && variable && { ...set, variable };
}
const showVariable = ofVariables.get(varPath, {
  summary: 'Show a variable of a set.',
  requires: 'can-read',
  load: loadVariable,
  run: async ({ target }) => target.variable,
});
const updateVariable = ofVariables.patch(varPath, {
  summary: 'Change a variable of a set.',
  requires: 'can-update',
  body: UpdateVariable,
  load: loadVariable,
  run: ({ db, env, target, body, ...call }) =>
    variables.update(db, env.keyring, actorOf(call), ownerOf(target), target.variable.id, body),
});
const removeVariable = ofVariables.remove(varPath, {
  summary: 'Delete a variable of a set.',
  requires: 'can-update',
  load: loadVariable,
  run: ({ db, target, ...call }) => variables.remove(db, actorOf(call), ownerOf(target), target.variable),
});

/** A variable with its sensitive flag and owner, for answers that include it. */
interface OwnedVariable extends Variable {
  readonly organizationId: string;
  readonly workspace?: WorkspaceTarget;
  readonly set?: VariableSet;
}

const ownedPolicy = policy<OwnedVariable>()({
  'can-read': (access, { workspace, set }) =>
    workspace
      ? access.has(workspace, 'variables:read')
      : set !== undefined && variableSetPolicy['can-read'](access, set),
});

async function findOwned(db: Database, ids: readonly string[]): Promise<OwnedVariable[]> {
  const found = await variables.findMany(db, ids);
  const [owners, holders] = await Promise.all([
    workspaces.findMany(db, [...new Set(found.flatMap(({ workspaceId }) => workspaceId ?? []))]),
    sets.findMany(db, [...new Set(found.flatMap(({ variableSetId }) => variableSetId ?? []))]),
  ]);
  return found.flatMap((variable) => {
    const workspace = owners.find(({ id }) => id === variable.workspaceId);
    const set = holders.find(({ id }) => id === variable.variableSetId);
    const organizationId = workspace?.organizationId ?? set?.organizationId;
    return organizationId === undefined ? [] : [{ ...variable, organizationId, workspace, set }];
  });
}

/** Endpoints of the variables in a set. */
export const variableEndpoints = [
  search,
  inForce,
  effective,
  listInWorkspace,
  oneStanding,
  listVariables,
  createVariable,
  showVariable,
  updateVariable,
  removeVariable,
];

/** Variables of workspaces and of sets, for answers that include them. */
export const variablesIncluded = includable<OwnedVariable>({
  serializer: variableSerializer,
  load: findOwned,
  visible: ownedPolicy['can-read'],
  organizationsOf: (variable) => [variable.organizationId],
});
