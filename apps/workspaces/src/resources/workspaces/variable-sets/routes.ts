import { invalid, MissingPermission, type SentReference } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { projectPolicy } from '../projects/policy';
import * as projects from '../projects/service';
import { readNewVariable } from '../variables/schema';
import { workspacePolicy } from '../workspaces/policy';
import * as workspaces from '../workspaces/workspace';
import { variableSetPolicy } from './policy';
import { listVariableSets } from './reads';
import { CreateVariableSet, Projects, UpdateVariableSet, Workspaces } from './schema';
import { variableSetSerializer } from './serializer';
import * as sets from './service';
import { variableEndpoints, variablesIncluded } from './variable-routes';
import type { VariableSet } from './variable-set';

const inOrganization = endpoints(organizationPolicy, variableSetSerializer, {
  visible: (access, organization) => access.isMember(organization.organizationId),
});
const ofSet = endpoints(variableSetPolicy, variableSetSerializer, { visible: variableSetPolicy['can-read'] });
const include = ['workspaces', 'projects', 'vars', 'organization', 'stacks'] as const;
const search = { q: 'Part of a name, ignoring case.' };

const inPath = '/organizations/:organization_name/varsets';
const loadOrganization = ({ db, env, params }: Lookup<typeof inPath>) =>
  organizations.findByName(db, env, params.organization_name);

const list = inOrganization.list(inPath, {
  summary: 'List the variable sets of an organization that the caller can see.',
  query: search,
  include,
  load: loadOrganization,
  run: ({ db, access, target, query, page }) => listVariableSets(db, access, target.id, { q: query.get('q'), page }),
});

const create = inOrganization.post(inPath, {
  summary: 'Create a variable set, with its variables and assignments.',
  // Callers who may write the sets of a project may create sets in it. The document names the project.
  requires: (access, organization) =>
    organizationPolicy['can-manage-varsets'](access, organization) || access.writesSetsOfSomeProject(organization.id),
  include,
  body: CreateVariableSet,
  load: loadOrganization,
  run: async ({ db, env, access, target, body, ...call }) => {
    const parentProjectId = await requireParent(db, access, target, body.parent ?? undefined);
    return sets.create(db, env.keyring, actorOf(call), target.id, { ...inputOf(body), parentProjectId });
  },
});

/**
 * The project that will own the set, or null for the organization. Throws `missing` unless the caller may create sets
 * there, and `invalid` for an unknown project.
 */
async function requireParent(
  db: Database,
  access: Access,
  organization: Organization,
  parent: string | undefined,
): Promise<string | null> {
  if (parent === undefined || parent === organization.name || parent === organization.id) {
    if (organizationPolicy['can-manage-varsets'](access, organization)) return null;
    throw new MissingPermission('can-manage-varsets');
  }
  const project = await projects.find(db, parent);
  if (project?.organizationId !== organization.id || !access.seesProject(project)) {
    throw invalid('parent', 'is not a project of this organization');
  }
  if (!projectPolicy['can-manage-varsets'](access, project)) throw new MissingPermission('can-manage-varsets');
  return project.id;
}

interface SentRelations {
  readonly workspaces?: readonly SentReference[];
  readonly projects?: readonly SentReference[];
  readonly vars?: readonly SentReference[];
}

/** A request's value with plain ids, and with the new variables of its `vars` relationship. Throws `invalid`. */
function inputOf<B extends SentRelations>(
  { workspaces: ws, projects: prj, vars, ...settings }: B,
  existingIds: readonly string[] = [],
) {
  const ids = (sent: readonly SentReference[] | undefined) => sent?.map(({ id }) => id ?? '');
  const fresh = vars?.filter(({ id }) => id === undefined) ?? [];
  // The variables must be new or already in this set, because a variable of another owner cannot be moved.
  if (vars?.some(({ id }) => id !== undefined && !existingIds.includes(id)))
    throw invalid('vars', 'were not all found');
  return {
    ...settings,
    workspaceIds: ids(ws),
    projectIds: ids(prj),
    variables: fresh.map(({ attributes }, index) => readNewVariable(attributes, index)),
  };
}

const byId = '/varsets/:varset_id';
const load = ({ db, params }: Lookup<typeof byId>) => sets.find(db, params.varset_id);

const show = ofSet.get(byId, { summary: 'Show a variable set.', include, load, run: async ({ target }) => target });

/** The content of an update; the owner of a set never changes. */
function changesOf<B extends SentRelations & { readonly parent?: string | null }>(
  set: VariableSet,
  { parent, ...body }: B,
) {
  const owners = set.parentProjectId === null ? [set.organizationName, set.organizationId] : [set.parentProjectId];
  if (parent !== undefined && !owners.includes(parent ?? '')) throw invalid('parent', 'cannot be changed');
  return inputOf(body, set.variableIds);
}

const changes = {
  summary:
    'Change a variable set; omitted fields keep their values. Lists of workspaces and projects replace the existing ones. Variables without an ID are added.',
  requires: 'can-update',
  include,
  body: UpdateVariableSet,
  load,
} as const;
// Clients use three verbs for this.
const update = [ofSet.patch, ofSet.put, ofSet.action].map((change) =>
  change(byId, {
    ...changes,
    run: ({ db, env, target, body, ifMatch, ...call }) =>
      sets.update(db, env.keyring, actorOf(call), target.id, changesOf(target, body), ifMatch),
  }),
);

const destroy = ofSet.remove(byId, {
  summary: 'Delete a variable set and its variables.',
  requires: 'can-update',
  load,
  run: ({ db, target, ...call }) => sets.remove(db, actorOf(call), target),
});

const workspacesPath = '/varsets/:varset_id/relationships/workspaces';
const projectsPath = '/varsets/:varset_id/relationships/projects';
const loadFor = ({ db, params }: { db: Database; params: { varset_id: string } }) => sets.find(db, params.varset_id);
const assigning = { requires: 'can-update', load: loadFor } as const;
const idsOf = (body: readonly SentReference[]) => body.map(({ id }) => id ?? '');

function refuseGlobal(set: VariableSet): void {
  if (set.global) throw new Refusal('invalid', 'A global variable set already applies to all workspaces');
}

const addWorkspaces = ofSet.command('POST')(workspacesPath, {
  ...assigning,
  summary: 'Assign a variable set to workspaces.',
  body: Workspaces,
  run: ({ db, target, body, ...call }) => {
    refuseGlobal(target);
    return sets.reassign(db, actorOf(call), target, (tx) =>
      sets.addWorkspaces(tx, target.organizationId, target.id, idsOf(body)),
    );
  },
});
const removeWorkspaces = ofSet.command('DELETE')(workspacesPath, {
  ...assigning,
  summary: 'Remove a variable set from workspaces.',
  body: Workspaces,
  run: ({ db, target, body, ...call }) => {
    const where = { variableSetId: target.id, workspaceId: { in: idsOf(body) } };
    return sets.reassign(db, actorOf(call), target, (tx) => tx.prisma.variableSetWorkspace.deleteMany({ where }));
  },
});
const addProjects = ofSet.command('POST')(projectsPath, {
  ...assigning,
  summary: 'Assign a variable set to projects.',
  body: Projects,
  run: ({ db, target, body, ...call }) => {
    refuseGlobal(target);
    return sets.reassign(db, actorOf(call), target, (tx) =>
      sets.addProjects(tx, target.organizationId, target.id, idsOf(body)),
    );
  },
});
const removeProjects = ofSet.command('DELETE')(projectsPath, {
  ...assigning,
  summary: 'Remove a variable set from projects.',
  body: Projects,
  run: ({ db, target, body, ...call }) => {
    const where = { variableSetId: target.id, projectId: { in: idsOf(body) } };
    return sets.reassign(db, actorOf(call), target, (tx) => tx.prisma.variableSetProject.deleteMany({ where }));
  },
});

const inWorkspace = endpoints(workspacePolicy, variableSetSerializer, {
  visible: workspacePolicy['can-read-settings'],
});
const applicable = inWorkspace.list('/workspaces/:workspace_id/applicable-varsets', {
  summary: 'List the variable sets that do not apply to a workspace and can be assigned to it.',
  query: search,
  include,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: ({ db, access, target, query, page }) =>
    listVariableSets(db, access, target.organizationId, { q: query.get('q'), applicableTo: target, page }),
});
const ofWorkspace = inWorkspace.list('/workspaces/:workspace_id/varsets', {
  summary: 'List the variable sets that apply to a workspace, including global ones.',
  query: search,
  include,
  load: ({ db, params }) => workspaces.find(db, params.workspace_id),
  run: ({ db, access, target, query, page }) =>
    listVariableSets(db, access, target.organizationId, { q: query.get('q'), workspace: target, page }),
});
const ofProject = endpoints(projectPolicy, variableSetSerializer, { visible: projectPolicy['can-read'] }).list(
  '/projects/:project_id/varsets',
  {
    summary: 'List the variable sets that apply to a project, including global ones.',
    query: search,
    include,
    load: ({ db, params }) => projects.find(db, params.project_id),
    run: ({ db, access, target, query, page }) =>
      listVariableSets(db, access, target.organizationId, { q: query.get('q'), projectId: target.id, page }),
  },
);

/** Variable sets. */
export const variableSetResource: Resource = {
  name: 'variable-sets',
  endpoints: [
    list,
    create,
    show,
    ...update,
    destroy,
    addWorkspaces,
    removeWorkspaces,
    addProjects,
    removeProjects,
    ofWorkspace,
    applicable,
    ofProject,
    ...variableEndpoints,
  ],
  includable: {
    varsets: includable<VariableSet>({
      serializer: variableSetSerializer,
      load: sets.findMany,
      visible: variableSetPolicy['can-read'],
      organizationsOf: (set) => [set.organizationId],
    }),
    vars: variablesIncluded,
  },
};
