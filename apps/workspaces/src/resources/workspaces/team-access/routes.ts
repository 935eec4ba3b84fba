import { MissingPermission } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { holds, type Mask } from '../../../kernel/access/capabilities';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import { seesTeam } from '../../people/teams/policy';
import * as teams from '../../people/teams/service';
import type { Team } from '../../people/teams/team';
import * as projects from '../projects/service';
import * as workspaces from '../workspaces/workspace';
import { projectGrantPolicy, workspaceGrantPolicy } from './policy';
import * as projectGrants from './project-grants';
import { ChangeProjectGrant, ChangeWorkspaceGrant, GrantProject, GrantWorkspace } from './schema';
import { projectGrantSerializer, workspaceGrantSerializer } from './serializers';
import * as workspaceGrants from './workspace-grants';

/** The rules of a grant's project or workspace, applied to the grant. */
function through<Grant, Target>(rules: Policy<Target>, targetOf: (grant: Grant) => Target) {
  return (name: string) => (access: Access, grant: Grant) => rules[name]!(access, targetOf(grant));
}

const onWorkspace = through(workspaceGrantPolicy, (grant: workspaceGrants.WorkspaceGrant) => grant.workspace);
const onProject = through(projectGrantPolicy, (grant: projectGrants.ProjectGrant) => grant.project);
const managesWorkspace = onWorkspace('can-manage-teams');
const readsProject = onProject('can-read-teams');
const managesProject = onProject('can-manage-teams');

const ofWorkspaces = endpoints({}, workspaceGrantSerializer, { visible: managesWorkspace });
const ofProjects = endpoints({}, projectGrantSerializer, { visible: readsProject });
const include = ['team', 'workspace'] as const;

/** A team of the organization that the caller can see. Throws `missing`. */
async function requireTeam(db: Database, access: Access, organizationId: string, id: string): Promise<Team> {
  const team = await teams.find(db, id);
  if (!team || team.organizationId !== organizationId || !seesTeam(access, team)) throw notFound();
  return team;
}

/**
 * Throws `denied` if a request allows a team to override policies and the caller may neither override policies there
 * nor delegate this permission. The reason is that policies also apply to workspace administrators.
 */
function requireMayDelegate(
  access: Access,
  workspace: WorkspaceTarget,
  sent: boolean | string | null | undefined,
  before: Mask = 0,
): void {
  if (sent !== true || holds(before, 'policies:override') || access.has(workspace, 'policies:override')) return;
  if (!access.can(workspace.organizationId, 'delegate-policy-overrides')) {
    throw new MissingPermission('delegate-policy-overrides');
  }
}

function present<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}

const listOfWorkspace = ofWorkspaces.list('/team-workspaces', {
  summary: 'List the teams with access to a workspace, or the workspaces to which a team has access.',
  query: {
    'filter[workspace][id]': 'The workspace; this or the other filter is required.',
    'filter[team][id]': 'The team.',
  },
  include,
  run: async ({ db, query, page, accessTo }) => {
    const workspaceId = query.get('filter[workspace][id]');
    if (workspaceId !== undefined) {
      const workspace = present(await workspaces.find(db, workspaceId));
      const access = await accessTo([workspace.organizationId]);
      if (!workspaceGrantPolicy['can-manage-teams'](access, workspace)) throw notFound();
      return workspaceGrants.list(db, { workspaceId, teamId: query.get('filter[team][id]') }, page);
    }
    const team = present(await teams.find(db, query.get('filter[team][id]') ?? ''));
    const access = await accessTo([team.organizationId]);
    if (!seesTeam(access, team) || !access.can(team.organizationId, 'manage-workspaces')) throw notFound();
    return workspaceGrants.list(db, { teamId: team.id }, page);
  },
});

const grantWorkspace = ofWorkspaces.post('/team-workspaces', {
  summary: 'Give a team access to a workspace.',
  body: GrantWorkspace,
  run: async ({ db, body, accessTo, ...call }) => {
    const workspace = present(await workspaces.find(db, body.workspace));
    const access = await accessTo([workspace.organizationId]);
    if (!workspaceGrantPolicy['can-manage-teams'](access, workspace)) {
      throw access.has(workspace, 'runs:read') ? new MissingPermission('can-update') : notFound();
    }
    const team = await requireTeam(db, access, workspace.organizationId, body.team);
    requireMayDelegate(access, workspace, body.policyOverrides);
    return workspaceGrants.create(db, actorOf(call), team.id, workspace.id, body);
  },
});

const workspaceGrantPath = '/team-workspaces/:team_workspace_id';
const loadWorkspaceGrant = ({ db, params }: Lookup<typeof workspaceGrantPath>) =>
  workspaceGrants.find(db, params.team_workspace_id);

const showOfWorkspace = ofWorkspaces.get(workspaceGrantPath, {
  summary: "Show a team's access to a workspace.",
  include,
  load: loadWorkspaceGrant,
  run: async ({ target }) => target,
});

const changeOfWorkspace = ofWorkspaces.patch(workspaceGrantPath, {
  summary: "Change a team's access to a workspace.",
  body: ChangeWorkspaceGrant,
  load: loadWorkspaceGrant,
  run: ({ db, target, body, ...call }) => {
    requireMayDelegate(call.access, target.workspace, body.policyOverrides, target.capabilities);
    return workspaceGrants.update(db, actorOf(call), target.id, body);
  },
});

const removeOfWorkspace = ofWorkspaces.remove(workspaceGrantPath, {
  summary: "Remove a team's access to a workspace.",
  load: loadWorkspaceGrant,
  run: ({ db, target, ...call }) => workspaceGrants.remove(db, actorOf(call), target),
});

const listOfProject = ofProjects.list('/team-projects', {
  summary: 'List the teams with access to a project.',
  query: { 'filter[project][id]': 'The project; required.' },
  include: ['team', 'project'],
  run: async ({ db, query, page, accessTo }) => {
    const project = present(await projects.find(db, query.get('filter[project][id]') ?? ''));
    const access = await accessTo([project.organizationId]);
    if (!projectGrantPolicy['can-read-teams'](access, project)) throw notFound();
    return projectGrants.list(db, project.id, page);
  },
});

const grantProject = ofProjects.post('/team-projects', {
  summary: 'Give a team access to a project and its workspaces.',
  body: GrantProject,
  run: async ({ db, body, accessTo, ...call }) => {
    const project = present(await projects.find(db, body.project));
    const access = await accessTo([project.organizationId]);
    if (!projectGrantPolicy['can-manage-teams'](access, project)) {
      throw access.seesProject(project) ? new MissingPermission('can-manage-teams') : notFound();
    }
    const team = await requireTeam(db, access, project.organizationId, body.team);
    return projectGrants.create(db, actorOf(call), team.id, project, access, body);
  },
});

const projectGrantPath = '/team-projects/:team_project_id';
const loadProjectGrant = ({ db, params }: Lookup<typeof projectGrantPath>) =>
  projectGrants.find(db, params.team_project_id);

const showOfProject = ofProjects.get(projectGrantPath, {
  summary: "Show a team's access to a project.",
  include: ['team', 'project'],
  load: loadProjectGrant,
  run: async ({ target }) => target,
});

const changeOfProject = ofProjects.patch(projectGrantPath, {
  summary: "Change a team's access to a project.",
  requires: managesProject,
  body: ChangeProjectGrant,
  load: loadProjectGrant,
  run: ({ db, access, target, body, ...call }) => projectGrants.update(db, actorOf(call), target.id, access, body),
});

const removeOfProject = ofProjects.remove(projectGrantPath, {
  summary: "Remove a team's access to a project.",
  requires: managesProject,
  load: loadProjectGrant,
  run: ({ db, target, ...call }) => projectGrants.remove(db, actorOf(call), target),
});

/** Access of teams to workspaces and projects. */
export const teamAccessResource: Resource = {
  name: 'team-access',
  endpoints: [
    listOfWorkspace,
    grantWorkspace,
    showOfWorkspace,
    changeOfWorkspace,
    removeOfWorkspace,
    listOfProject,
    grantProject,
    showOfProject,
    changeOfProject,
    removeOfProject,
  ],
  includable: {
    'team-workspaces': includable<workspaceGrants.WorkspaceGrant>({
      serializer: workspaceGrantSerializer,
      load: workspaceGrants.findMany,
      visible: managesWorkspace,
      organizationsOf: (grant) => [grant.organizationId],
    }),
    'team-projects': includable<projectGrants.ProjectGrant>({
      serializer: projectGrantSerializer,
      load: projectGrants.findMany,
      visible: readsProject,
      organizationsOf: (grant) => [grant.organizationId],
    }),
  },
};
