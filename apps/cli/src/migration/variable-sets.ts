import { attempt, type Ids, type Import, listOrReport, make, once } from './import';
import { pick, type Reference, type RemoteResource, relations, text } from './resource';
import { copyVariables } from './variables';

const copiedAttributes = ['name', 'description', 'global', 'priority'];
const targets = ['workspaces', 'projects'] as const;

/** Copies the variable sets of an organization with their variables and assignments. */
export async function copyVariableSets(
  job: Import,
  organization: string,
  base: string,
  ids: Record<(typeof targets)[number], Ids>,
): Promise<void> {
  const here = new Map((await job.to.list(`${base}/varsets`)).map((set) => [text(set, 'name'), set]));
  for (const { id, ...listed } of await listOrReport(job, 'variable sets', organization, `${base}/varsets`)) {
    // Some lists leave out the assignments of each set.
    const source = (await job.from.find(`varsets/${id}`)) ?? { id, ...listed };
    const label = `${organization}, variable set ${text(source, 'name')}`;
    job.progress.begin(label);
    const owner = ownerOf(source, ids.projects);
    if (owner === 'missing') {
      job.report.manualStep(`${label}: the project that owns it was not copied, so it was left out`);
      continue;
    }
    await attempt(job, label, async () => {
      const created = await once(job, 'variable set', here.get(text(source, 'name')), () =>
        make(job, label, `${base}/varsets`, {
          type: 'varsets',
          attributes: pick(source, copiedAttributes),
          relationships: owner && { parent: { data: owner } },
        }),
      );
      const variables = created && `varsets/${created.id}/relationships/vars`;
      await copyVariables(job, label, `varsets/${id}/relationships/vars`, variables);
      if (created && !source.attributes.global) await assign(job, source, created, ids);
    });
  }
}

/** The target project that owns a set; undefined for a set of the organization. */
function ownerOf(source: RemoteResource, projects: Ids): Reference | 'missing' | undefined {
  const parent = source.relationships?.parent?.data;
  if (!parent || Array.isArray(parent) || parent.type !== 'projects') return undefined;
  const id = projects.get(parent.id);
  return id === undefined ? 'missing' : { type: 'projects', id };
}

async function assign(
  job: Import,
  source: RemoteResource,
  target: RemoteResource,
  ids: Record<string, Ids>,
): Promise<void> {
  for (const type of targets) {
    const has = relations(target, type);
    const targetIds = relations(source, type).flatMap((id) => ids[type]?.get(id) || []);
    const data = targetIds.filter((id) => !has.includes(id)).map((id) => ({ type, id }));
    if (data.length > 0 && !job.plan) await job.to.act(`varsets/${target.id}/relationships/${type}`, { data });
  }
}
