import type { Remote, Resource } from './remote';
import type { Report } from './report';
import { copyStates } from './states';

/** One import: from, to, whether to write, and what came of it. */
export interface Import {
  from: Remote;
  to: Remote;
  /** Write nothing; count what would be written. */
  plan: boolean;
  /** Copy all state versions, not only the newest. */
  history: boolean;
  report: Report;
  /** Told what is being worked on. */
  progress: (text: string) => void;
}

/** Names of things here by their names there, with the id each has at the destination; ids of a plan are empty. */
type Ids = Map<string, string>;

const kept = {
  organization: [
    'email',
    'collaborator-auth-policy',
    'cost-estimation-enabled',
    'default-execution-mode',
    'allow-force-delete-workspaces',
    'assessments-enforced',
    'session-timeout',
    'session-remember',
  ],
  project: ['name', 'description'],
  team: ['name', 'visibility', 'organization-access', 'allow-member-token-management'],
  workspace: [
    'name',
    'description',
    'allow-destroy-plan',
    'auto-apply',
    'auto-apply-run-trigger',
    'execution-mode',
    'file-triggers-enabled',
    'global-remote-state',
    'queue-all-runs',
    'speculative-enabled',
    'structured-run-output-enabled',
    'infra-version',
    'trigger-patterns',
    'trigger-prefixes',
    'working-directory',
  ],
  variable: ['key', 'value', 'description', 'category', 'hcl', 'sensitive'],
  access: ['access', 'runs', 'variables', 'state-versions', 'workspace-locking', 'run-tasks'],
} as const;

/** Copies an organization with its projects, teams, workspaces and their variables, tags, grants and states. */
export async function copyOrganization(job: Import, name: string): Promise<void> {
  const source = await job.from.get(`organizations/${name}`);
  job.progress(`organization ${name}`);
  await once(job, 'organization', await job.to.find(`organizations/${name}`), () =>
    job.to.create('organizations', { type: 'organizations', attributes: { name, ...pick(source, kept.organization) } }),
  );
  const there = (path: string) => job.to.list(path);
  const base = `organizations/${name}`;
  const projects = await copyNamed(
    job,
    'project',
    'projects',
    await job.from.list(`${base}/projects`),
    await there(`${base}/projects`),
    `${base}/projects`,
  );
  const teams = await copyNamed(
    job,
    'team',
    'teams',
    await job.from.list(`${base}/teams`),
    await there(`${base}/teams`),
    `${base}/teams`,
  );
  if ((await job.from.list(`${base}/ssh-keys`)).length > 0)
    job.report.leave(`${name}: SSH keys cannot be read elsewhere; store them again`);
  if ((await job.from.list(`${base}/oauth-clients`)).length > 0)
    job.report.leave(`${name}: connect the version-control providers again`);
  const before = new Map((await there(`${base}/workspaces`)).map((workspace) => [text(workspace, 'name'), workspace]));
  for (const workspace of await job.from.list(`${base}/workspaces`)) {
    await copyWorkspace(job, name, workspace, before.get(text(workspace, 'name')), projects, teams);
  }
}

async function copyNamed(
  job: Import,
  kind: 'project' | 'team',
  type: string,
  from: readonly Resource[],
  to: readonly Resource[],
  path: string,
): Promise<Ids> {
  const before = new Map(to.map((resource) => [text(resource, 'name'), resource]));
  const ids: Ids = new Map();
  for (const resource of from) {
    const name = text(resource, 'name');
    const made = await once(job, kind, before.get(name), () =>
      job.to.create(path, { type, attributes: pick(resource, kept[kind]) }),
    );
    ids.set(resource.id, made?.id ?? '');
    if (kind === 'team' && Number(resource.attributes['users-count']) > 0) {
      job.report.leave(`team ${name}: invite its ${String(resource.attributes['users-count'])} members again`);
    }
  }
  return ids;
}

async function copyWorkspace(
  job: Import,
  organization: string,
  source: Resource,
  before: Resource | undefined,
  projects: Ids,
  teams: Ids,
): Promise<void> {
  const name = text(source, 'name');
  job.progress(`workspace ${organization}/${name}`);
  const project = relation(source, 'project');
  const tags = (await job.from.list(`workspaces/${source.id}/relationships/tags`)).map((tag) => text(tag, 'name'));
  const attributes = pick(source, kept.workspace);
  if (attributes['execution-mode'] === 'agent') {
    attributes['execution-mode'] = 'remote';
    job.report.leave(`${organization}/${name}: ran on agents; choose a pool here`);
  }
  // Servers with the names of the tool's family call it so.
  attributes['infra-version'] ??= source.attributes['terraform-version'];
  if (source.attributes['vcs-repo']) job.report.leave(`${organization}/${name}: connect its repository again`);
  const made = await once(job, 'workspace', before, () =>
    job.to.create(`organizations/${organization}/workspaces`, {
      type: 'workspaces',
      attributes,
      relationships: {
        ...(project && projects.get(project)
          ? { project: { data: { type: 'projects', id: projects.get(project) } } }
          : {}),
        ...(tags.length > 0
          ? { tags: { data: tags.map((tag) => ({ type: 'tags', attributes: { name: tag } })) } }
          : {}),
      },
    }),
  );
  const id = made?.id;
  await copyVariables(job, `${organization}/${name}`, source.id, id);
  await copyGrants(job, source.id, id, teams);
  await copyStates(job, organization, name, id);
}

async function copyVariables(job: Import, label: string, from: string, to: string | undefined): Promise<void> {
  const keyOf = (variable: Resource) => `${text(variable, 'category')} ${text(variable, 'key')}`;
  const before = new Map((to ? await job.to.list(`workspaces/${to}/vars`) : []).map((v) => [keyOf(v), v]));
  for (const variable of await job.from.list(`workspaces/${from}/vars`)) {
    if (variable.attributes.sensitive && !before.has(keyOf(variable))) {
      job.report.leave(`${label}: set the value of the sensitive variable ${text(variable, 'key')}`);
    }
    await once(job, 'variable', before.get(keyOf(variable)), () =>
      job.to.create(`workspaces/${to}/vars`, { type: 'vars', attributes: pick(variable, kept.variable) }),
    );
  }
}

async function copyGrants(job: Import, from: string, to: string | undefined, teams: Ids): Promise<void> {
  const path = (id: string) => `team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${id}`;
  const before = new Map((to ? await job.to.list(path(to)) : []).map((grant) => [relation(grant, 'team'), grant]));
  for (const grant of await job.from.list(path(from))) {
    const team = teams.get(relation(grant, 'team') ?? '');
    if (team === undefined) continue;
    const custom = grant.attributes.access === 'custom';
    await once(job, 'grant', before.get(team), () =>
      job.to.create('team-workspaces', {
        type: 'team-workspaces',
        attributes: pick(grant, custom ? kept.access : ['access']),
        relationships: {
          team: { data: { type: 'teams', id: team } },
          workspace: { data: { type: 'workspaces', id: to } },
        },
      }),
    );
  }
}

/** Makes what is not there yet, unless this is a plan; counts either way. */
async function once(
  job: Import,
  kind: string,
  before: Resource | undefined,
  make: () => Promise<Resource>,
): Promise<Resource | undefined> {
  if (before) {
    job.report.skip(kind);
    return before;
  }
  job.report.add(kind);
  return job.plan ? undefined : make();
}

function pick(resource: Resource, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = resource.attributes[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  );
}

function relation(resource: Resource, name: string): string | undefined {
  const data = resource.relationships?.[name]?.data;
  return data && !Array.isArray(data) ? data.id : undefined;
}

function text(resource: Resource, name: string): string {
  return String(resource.attributes[name] ?? '');
}
