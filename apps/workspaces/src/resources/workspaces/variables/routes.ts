import { MissingPermission } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { both, endpoints, type Lookup, type LookupBy, type Resource } from '../../../kernel/endpoints/endpoint';
import { workspacePolicy } from '../workspaces/policy';
import * as workspaces from '../workspaces/workspace';
import { CreateVariable, CreateVariableSomewhere, UpdateVariable, UpdateVariables, type VariableInput } from './schema';
import { variableSerializer } from './serializer';
import * as variables from './service';
import type { Variable } from './variable';

/** A variable together with the workspace whose rules protect it. */
interface VariableTarget {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  readonly variable: Variable;
}

const variablePolicy = policy<VariableTarget>()({
  'can-read-variable': (access, { workspace }) => workspacePolicy['can-read-variable'](access, workspace),
  'can-update-variable': (access, { workspace }) => workspacePolicy['can-update-variable'](access, workspace),
});

const ofWorkspace = endpoints(workspacePolicy, variableSerializer, {
  visible: workspacePolicy['can-read-settings'],
  organizationsOf: (item) => ('organizationId' in item ? [item.organizationId] : []),
});
const ofOne = endpoints(variablePolicy, variableSerializer, {
  visible: variablePolicy['can-read-variable'],
  organizationsOf: (item) => ('organizationId' in item ? [item.organizationId] : []),
});

const inPath = '/workspaces/:workspace_id/vars';
const loadWorkspace = ({ db, params }: Lookup<typeof inPath>) => workspaces.find(db, params.workspace_id);
const ownerOf = ({ id, organizationId }: WorkspaceTarget): variables.Owner => ({ workspaceId: id, organizationId });

const list = ofWorkspace.list(inPath, {
  summary: 'List all variables of a workspace.',
  paging: 'none',
  requires: 'can-read-variable',
  load: loadWorkspace,
  run: ({ db, target }) => variables.list(db, ownerOf(target)),
});

const create = ofWorkspace.post(inPath, {
  summary: 'Create a variable of a workspace.',
  requires: 'can-update-variable',
  body: CreateVariable,
  load: loadWorkspace,
  run: ({ db, env, target, body, ...call }) => variables.create(db, env.keyring, actorOf(call), ownerOf(target), body),
});

const updateSeveral = ofWorkspace.command('PATCH')('/workspaces/:workspace_id/relationships/vars', {
  summary: 'Change several variables of a workspace, all or none; omitted fields keep their values.',
  requires: 'can-update-variable',
  refuses: [400],
  body: UpdateVariables,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: ({ db, env, target, body, ...call }) =>
    variables.updateSeveral(db, env.keyring, actorOf(call), ownerOf(target), body),
});

async function findIn(db: Database, workspaceId: string | null, id: string): Promise<VariableTarget | undefined> {
  const workspace = workspaceId === null ? undefined : await workspaces.find(db, workspaceId);
  const variable = workspace && (await variables.findOf(db, ownerOf(workspace), id));
  return workspace && variable && { organizationId: workspace.organizationId, workspace, variable };
}

const byId = {
  '/workspaces/:workspace_id/vars/:variable_id': ({ db, params }: LookupBy<'workspace_id' | 'variable_id'>) =>
    findIn(db, params.workspace_id, params.variable_id),
  // The older form, without the workspace in the path.
  '/vars/:variable_id': async ({ db, params }: LookupBy<'variable_id'>) => {
    const [variable] = await variables.findMany(db, [params.variable_id]);
    return variable && findIn(db, variable.workspaceId, variable.id);
  },
};

const update = both(ofOne.patch, byId, {
  summary: 'Change a variable; omitted fields keep their values.',
  requires: 'can-update-variable',
  body: UpdateVariable,
  run: ({ db, env, target, body, ...call }: VariableCall & { body: VariableInput }) =>
    variables.update(db, env.keyring, actorOf(call), ownerOf(target.workspace), target.variable.id, body),
});

const destroy = both(ofOne.remove, byId, {
  summary: 'Delete a variable.',
  requires: 'can-update-variable',
  run: ({ db, target, ...call }: VariableCall) =>
    variables.remove(db, actorOf(call), ownerOf(target.workspace), target.variable),
});

type VariableCall = Lookup<string> & { target: VariableTarget; request: { id: string } };

const show = ofOne.get('/workspaces/:workspace_id/vars/:variable_id', {
  summary: 'Show a variable.',
  requires: 'can-read-variable',
  load: ({ db, params }) => findIn(db, params.workspace_id, params.variable_id),
  run: async ({ target }) => target.variable,
});

const listSomewhere = ofWorkspace.list('/vars', {
  summary: 'List the variables of the workspace in the filters.',
  paging: 'none',
  query: {
    'filter[organization][name]': 'The organization; required.',
    'filter[workspace][name]': 'The workspace; required.',
  },
  run: async ({ db, query, accessTo }) => {
    const names = [query.get('filter[organization][name]') ?? '', query.get('filter[workspace][name]') ?? ''] as const;
    const workspace = await workspaces.findByName(db, ...names);
    await requireOn(workspace, 'can-read-variable', accessTo);
    return variables.list(db, ownerOf(workspace!));
  },
});

const createSomewhere = ofWorkspace.post('/vars', {
  summary: 'Create a variable of the workspace in the request body.',
  body: CreateVariableSomewhere,
  run: async ({ db, env, body, accessTo, ...call }) => {
    const workspace = await workspaces.find(db, body.workspace);
    await requireOn(workspace, 'can-update-variable', accessTo);
    return variables.create(db, env.keyring, actorOf(call), ownerOf(workspace!), body);
  },
});

async function requireOn(
  workspace: WorkspaceTarget | undefined,
  rule: 'can-read-variable' | 'can-update-variable',
  accessTo: (ids: readonly string[]) => Promise<Access>,
): Promise<void> {
  if (!workspace) throw notFound();
  const access = await accessTo([workspace.organizationId]);
  if (workspacePolicy[rule](access, workspace)) return;
  throw access.has(workspace, 'runs:read') ? new MissingPermission(rule) : notFound();
}

/** Variables of workspaces. */
export const variableResource: Resource = {
  name: 'variables',
  endpoints: [list, create, show, updateSeveral, ...update, ...destroy, listSomewhere, createSomewhere],
};
