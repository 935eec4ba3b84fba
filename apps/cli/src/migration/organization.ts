import { copyAccess } from './access';
import { attempt, type Ids, type Import, listOrReport, make, once } from './import';
import { pick, type RemoteResource, text } from './resource';
import { copyVariableSets } from './variable-sets';
import { copyConsumers, copyTriggers, copyWorkspace } from './workspace';

const copiedAttributes = {
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
  projects: ['name', 'description', 'auto-destroy-activity-duration'],
  teams: ['name', 'visibility', 'sso-team-id', 'organization-access', 'allow-member-token-management'],
} as const;

/** What every new organization on this service starts with. */
const builtIn = { projects: 'Default Project', teams: 'owners' };

/** Copies an organization with its projects, teams, workspaces and their variables, tags, grants and states. */
export async function copyOrganization(job: Import, name: string): Promise<void> {
  const base = `organizations/${encodeURIComponent(name)}`;
  const source = await job.from.get(base);
  job.progress.begin(`organization ${name}`);
  const before = await job.to.find(base);
  if (!before) reportDifferences(job, name, source);
  await once(job, 'organization', before, () => makeOrganization(job, name, source));
  const isNew = job.plan && !before;
  const projects = await copyNamed(job, 'projects', base, isNew);
  const teams = await copyNamed(job, 'teams', base, isNew);
  for (const [id, project] of projects) await copyAccess(job, 'project', name, id, project, teams);
  await reportManualSteps(job, name, base);

  const here = new Map((await job.to.list(`${base}/workspaces`)).map((found) => [text(found, 'name'), found]));
  const sources = await listOrReport(job, 'workspaces', name, `${base}/workspaces`);
  const workspaces: Ids = new Map();
  job.progress.begin(`workspaces of ${name}`, sources.length);
  for (const workspace of sources) {
    const label = `${name}/${text(workspace, 'name')}`;
    job.progress.about(`workspace ${label}`);
    const place = { organization: name, before: here.get(text(workspace, 'name')), projects, teams };
    const id = await attempt(job, label, () => copyWorkspace(job, label, workspace, place));
    if (id !== undefined) workspaces.set(workspace.id, id);
    job.progress.step();
  }
  for (const workspace of sources) {
    await copyConsumers(job, name, workspace, workspaces);
    await copyTriggers(job, name, workspace, workspaces);
  }
  await copyVariableSets(job, name, base, { workspaces, projects });
}

const runsOnAgents = (source: RemoteResource) => source.attributes['default-execution-mode'] === 'agent';

function reportDifferences(job: Import, name: string, source: RemoteResource): void {
  if (runsOnAgents(source))
    job.report.manualStep(
      `${name}: its default execution mode is agent, which was not copied; choose an agent pool on this service`,
    );
  if (!source.attributes.email)
    job.report.manualStep(`${name}: the source does not show the organization's e-mail address, so yours was used`);
}

async function makeOrganization(job: Import, name: string, source: RemoteResource): Promise<RemoteResource> {
  const attributes: Record<string, unknown> = { name, ...pick(source, copiedAttributes.organization) };
  if (runsOnAgents(source)) delete attributes['default-execution-mode'];
  attributes.email ??= text(await job.to.get('account/details'), 'email');
  return make(job, name, 'organizations', { type: 'organizations', attributes });
}

async function copyNamed(job: Import, type: 'projects' | 'teams', base: string, isNew: boolean): Promise<Ids> {
  const organization = decodeURIComponent(base.replace('organizations/', ''));
  const path = `${base}/${type}`;
  const here = new Map((await job.to.list(path)).map((found) => [text(found, 'name'), found.id]));
  if (isNew) here.set(builtIn[type], '');
  const kind = type.slice(0, -1);
  const ids: Ids = new Map();
  for (const source of await listOrReport(job, type, organization, path)) {
    const name = text(source, 'name');
    const label = `${organization}, ${kind} ${name}`;
    const before = here.has(name) ? { ...source, id: here.get(name) ?? '' } : undefined;
    await attempt(job, label, async () => {
      const draft = { type, attributes: pick(source, copiedAttributes[type]) };
      const created = await once(job, kind, before, () => make(job, label, path, draft));
      ids.set(source.id, created?.id ?? '');
    });
    const members = Number(source.attributes['users-count'] ?? 0);
    if (members > 0) job.report.manualStep(`${label}: re-invite its members (${members})`);
  }
  return ids;
}

/** Reports what cannot be copied, because it is unreadable or needs its owner's consent. */
async function reportManualSteps(job: Import, name: string, base: string): Promise<void> {
  const kinds: [path: string, kind: string, sentence: string][] = [
    ['ssh-keys', 'SSH keys', 'SSH keys cannot be read back from the source; add them again'],
    ['oauth-clients', 'VCS connections', 'connect the Git hosts again'],
    ['agent-pools', 'agent pools', 'create agent pools and their agent tokens again'],
    ['organization-memberships', 'members', 're-invite the members'],
  ];
  for (const [path, kind, sentence] of kinds) {
    const found = await listOrReport(job, kind, name, `${base}/${path}`);
    if (found.length > 0) job.report.manualStep(`${name}: ${sentence} (${found.length})`);
  }
}
