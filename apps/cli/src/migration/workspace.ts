import { copyAccess } from './access';
import { attempt, type Ids, type Import, listOrReport, make, once } from './import';
import { pick, type RemoteResource, relation, text } from './resource';
import { copyStates } from './states';
import { copyBindings, copyTags } from './tags';
import { copyVariables } from './variables';

/**
 * Attributes that an import does not copy: users must set them, other attributes imply them, or they describe the
 * creator.
 */
const apart = [
  'agent-pool-id',
  'operations',
  'setting-overwrites',
  'vcs-repo',
  'source-name',
  'source-url',
  // Roles of another secrets service.
  'secrets-role',
  'secrets-namespace',
];

/** The target of a workspace; `before` is the existing workspace with its name. */
export interface ImportTarget {
  organization: string;
  before: RemoteResource | undefined;
  projects: Ids;
  teams: Ids;
}

/** Copies a workspace with everything that belongs to it; returns its target id, empty in a plan. */
export async function copyWorkspace(
  job: Import,
  label: string,
  source: RemoteResource,
  place: ImportTarget,
): Promise<string> {
  const path = `organizations/${encodeURIComponent(place.organization)}/workspaces`;
  const target = await once(job, 'workspace', place.before, () => makeWorkspace(job, label, path, source, place));
  const id = target?.id;
  await attempt(job, label, () => copyTags(job, label, source, target));
  await attempt(job, label, () => copyBindings(job, label, source, target));
  await copyVariables(job, label, `workspaces/${source.id}/vars`, id && `workspaces/${id}/vars`);
  await copyAccess(job, 'workspace', label, source.id, id ?? '', place.teams);
  await reportManualSteps(job, label, source);
  await attempt(job, label, () => copyStates(job, label, { organization: place.organization, source, target }));
  return id ?? '';
}

async function makeWorkspace(
  job: Import,
  label: string,
  path: string,
  source: RemoteResource,
  { projects }: ImportTarget,
) {
  const supportedAttributes = await job.to.createAttributes('organizations/{organization_name}/workspaces');
  const attributes = pick(
    source,
    supportedAttributes.filter((name) => !apart.includes(name)),
  );
  const mode = attributes['execution-mode'];
  if (mode === 'agent') attributes['execution-mode'] = 'remote';
  const overwrites = source.attributes['setting-overwrites'] as Record<string, unknown> | undefined;
  const inherits = overwrites?.['execution-mode'] === false && mode !== 'agent';
  if (inherits) delete attributes['execution-mode'];
  // Inherited settings are shown like the workspace's own.
  if (attributes['inherits-project-auto-destroy'] === true) delete attributes['auto-destroy-activity-duration'];
  // The name of this attribute on other servers.
  const version = attributes['infra-version'] ?? source.attributes['terraform-version'] ?? undefined;
  delete attributes['terraform-version'];
  attributes['infra-version'] = version;
  // If a version is not here, the newest patch of its minor release is the closest.
  const [minor] = /^\d+\.\d+(?=\.\d+$)/.exec(String(version)) ?? [];
  const instead = minor === undefined ? {} : { 'infra-version': `~> ${minor}.0` };
  const project = projects.get(relation(source, 'project') ?? '');
  const relationships = project ? { project: { data: { type: 'projects', id: project } } } : {};
  const created = await make(job, label, path, { type: 'workspaces', attributes, relationships }, instead);
  // The inherited value may be different here.
  if (inherits && mode !== created.attributes['execution-mode']) {
    await job.to.change(`workspaces/${created.id}`, { type: 'workspaces', attributes: { 'execution-mode': mode } });
  }
  return created;
}

/** Reports what cannot be copied, because it is unreadable or needs its owner's consent. */
async function reportManualSteps(job: Import, label: string, source: RemoteResource): Promise<void> {
  const { attributes, id } = source;
  const manualStep = (sentence: string) => job.report.manualStep(`${label}: ${sentence}`);
  if (attributes['execution-mode'] === 'agent')
    manualStep('its execution mode is agent, which was not copied; choose an agent pool on this service');
  if (attributes['vcs-repo']) manualStep('connect its repository again');
  if (attributes['secrets-role']) manualStep('set its role in the secrets service again');
  if (relation(source, 'ssh-key')) manualStep('assign its SSH key again');
  if (attributes.locked)
    manualStep('is locked there, so its state may still change: import it again after it is unlocked');
  const notifications = (
    await listOrReport(job, 'notifications', label, `workspaces/${id}/notification-configurations`)
  ).length;
  if (notifications > 0) manualStep(`its notifications (${notifications}) have no counterpart here`);
}

/** Copies the list of workspaces that may read a workspace's state. */
export async function copyConsumers(
  job: Import,
  organization: string,
  source: RemoteResource,
  workspaces: Ids,
): Promise<void> {
  const to = workspaces.get(source.id);
  const { 'global-remote-state': toAll, 'project-remote-state': toProject } = source.attributes;
  if (toAll !== false || toProject === true || to === undefined) return;
  const label = `${organization}/${text(source, 'name')}`;
  const path = (id: string) => `workspaces/${id}/relationships/remote-state-consumers`;
  const found = await listOrReport(job, 'remote state consumers', label, path(source.id));
  if (found.length === 0) return;
  const has = to ? (await job.to.list(path(to))).map(({ id }) => id) : [];
  const targetIds = found.flatMap(({ id }) => workspaces.get(id) ?? []);
  const data = targetIds.filter((id) => !has.includes(id)).map((id) => ({ type: 'workspaces', id }));
  job.report.skip('remote state consumer', targetIds.length - data.length);
  if (!job.plan && data.length > 0) await attempt(job, label, () => job.to.act(path(to), { data }));
  job.report.add('remote state consumer', data.length);
}

/** Copies the run triggers of a workspace. */
export async function copyTriggers(
  job: Import,
  organization: string,
  source: RemoteResource,
  workspaces: Ids,
): Promise<void> {
  const to = workspaces.get(source.id);
  if (to === undefined) return;
  const label = `${organization}/${text(source, 'name')}`;
  const path = (id: string) => `workspaces/${id}/run-triggers?filter%5Brun-trigger%5D%5Btype%5D=inbound`;
  const found = await listOrReport(job, 'run triggers', label, path(source.id));
  if (found.length === 0) return;
  const here = to ? await job.to.list(path(to)) : [];
  for (const trigger of found) {
    const sourceable = workspaces.get(relation(trigger, 'sourceable') ?? '');
    if (sourceable === undefined) {
      job.report.manualStep(`${label}: its run triggers were not copied`);
      continue;
    }
    const before = here.find((one) => relation(one, 'sourceable') === sourceable);
    const relationships = { sourceable: { data: { type: 'workspaces', id: sourceable } } };
    await attempt(job, label, () =>
      once(job, 'run trigger', before, () =>
        make(job, label, `workspaces/${to}/run-triggers`, { type: 'run-triggers', attributes: {}, relationships }),
      ),
    );
  }
}
