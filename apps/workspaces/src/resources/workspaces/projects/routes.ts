import { Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { moveWorkspaces } from './move';
import { mayTryToDelete, projectPolicy } from './policy';
import type { Project } from './project';
import { listProjects } from './reads';
import { CreateProject, UpdateProject, Workspaces } from './schema';
import { projectSerializer } from './serializer';
import * as projects from './service';
import { taggedFilters, taggedParameters } from './tag-filters';

const inOrganization = endpoints(organizationPolicy, projectSerializer, {
  visible: (access, organization) => access.canTraverse(organization.organizationId),
});
const { get, patch, remove, command } = endpoints(projectPolicy, projectSerializer, {
  visible: projectPolicy['can-read'],
});

const inPath = '/organizations/:organization_name/projects';
const loadOrganization = ({ db, env, params }: Lookup<typeof inPath>) =>
  organizations.findByName(db, env, params.organization_name);

const list = inOrganization.list(inPath, {
  summary: 'List the projects of an organization that the caller can see.',
  query: {
    q: 'Part of a name, ignoring case.',
    'filter[names]': 'Whole names in any case, separated by commas. Takes precedence over q.',
    'filter[permissions][create-workspace]': 'true: only projects in which the caller may create workspaces.',
    'filter[permissions][update]': 'true: only projects that the caller may change.',
    ...taggedParameters,
  },
  sort: ['name'],
  include: ['organization', 'effective_tag_bindings'],
  load: loadOrganization,
  run: ({ db, access, target, query, sort, page }) =>
    listProjects(db, access, target.id, {
      q: query.get('q'),
      names: query.list('filter[names]'),
      capabilities: [
        ...(query.get('filter[permissions][create-workspace]') === 'true' ? (['workspaces:create'] as const) : []),
        ...(query.get('filter[permissions][update]') === 'true' ? (['project:update'] as const) : []),
      ],
      tagged: taggedFilters(query),
      descending: sort[0]?.descending,
      page,
    }),
});

const callerOf = (call: Parameters<typeof actorOf>[0] & { access: Access }, organizationId: string) => ({
  actor: actorOf(call),
  isOwner: call.access.isOwner(organizationId),
});

const create = inOrganization.post(inPath, {
  summary: 'Create a project.',
  requires: 'can-create-project',
  body: CreateProject,
  load: loadOrganization,
  run: ({ db, target, body, ...call }) => projects.create(db, callerOf(call, target.id), target.id, body),
});

const byId = '/projects/:project_id';
const load = ({ db, params }: Lookup<typeof byId>) => projects.find(db, params.project_id);

const show = get(byId, {
  summary: 'Show a project.',
  include: ['organization', 'effective_tag_bindings'],
  load,
  run: async ({ target }) => target,
});

const update = patch(byId, {
  summary: 'Change a project; omitted fields keep their values.',
  requires: 'can-update',
  body: UpdateProject,
  load,
  run: ({ db, target, body, ifMatch, ...call }) =>
    projects.update(db, callerOf(call, target.organizationId), target.id, body, ifMatch),
});

const destroy = remove(byId, {
  summary: 'Delete an empty project. The default project cannot be deleted.',
  requires: 'can-read',
  load,
  run: async ({ db, access, target, ...call }) => {
    if (!mayTryToDelete(access, target)) throw new Refusal('denied', 'You are not authorized to delete this project');
    await projects.remove(db, actorOf(call), target);
  },
});

const move = command('POST')('/projects/:project_id/relationships/workspaces', {
  summary:
    'Move workspaces into a project, all or none. The caller must be allowed to move workspaces in both projects.',
  requires: 'can-move-workspace',
  body: Workspaces,
  load: ({ db, params }) => projects.find(db, params.project_id),
  run: ({ db, access, target, body, ...call }) => {
    const ids = [...new Set(body.map(({ id }) => id ?? ''))];
    return moveWorkspaces(db, actorOf(call), access, target, ids);
  },
});

const projectsIncluded = includable<Project>({
  serializer: projectSerializer,
  load: projects.findMany,
  visible: projectPolicy['can-read'],
  organizationsOf: (project) => [project.organizationId],
});

/** Projects, which group workspaces. */
export const projectResource: Resource = {
  name: 'projects',
  endpoints: [list, create, show, update, destroy, move],
  includable: { projects: projectsIncluded },
};
