import { attempt, type Ids, type Import, make, once, shown } from './import';
import { pick, type Reference, type RemoteResource, relations, text } from './resource';
import { copyVariables } from './variables';

const kept = ['name', 'description', 'global', 'priority'];
const targets = ['workspaces', 'projects'] as const;

/** Copies the variable sets of an organization with their variables and what they are assigned to. */
export async function copyVariableSets(
  job: Import,
  organization: string,
  base: string,
  ids: Record<(typeof targets)[number], Ids>,
): Promise<void> {
  const here = new Map((await job.to.list(`${base}/varsets`)).map((set) => [text(set, 'name'), set]));
  for (const { id, ...listed } of await shown(job, 'variable sets', organization, `${base}/varsets`)) {
    // A list need not say what each set is assigned to.
    const source = (await job.from.find(`varsets/${id}`)) ?? { id, ...listed };
    const label = `${organization}, variable set ${text(source, 'name')}`;
    job.progress.begin(label);
    const owner = ownerOf(source, ids.projects);
    if (owner === 'missing') {
      job.report.leave(`${label}: the project that owns it was not copied, so it was left out`);
      continue;
    }
    await attempt(job, label, async () => {
      const made = await once(job, 'variable set', here.get(text(source, 'name')), () =>
        make(job, label, `${base}/varsets`, {
          type: 'varsets',
          attributes: pick(source, kept),
          relationships: owner && { parent: { data: owner } },
        }),
      );
      const variables = made && `varsets/${made.id}/relationships/vars`;
      await copyVariables(job, label, `varsets/${id}/relationships/vars`, variables);
      if (made && !source.attributes.global) await assign(job, source, made, ids);
    });
  }
}

/** The project here that a set is of; undefined for one of the organization. */
function ownerOf(source: RemoteResource, projects: Ids): Reference | 'missing' | undefined {
  const parent = source.relationships?.parent?.data;
  if (!parent || Array.isArray(parent) || parent.type !== 'projects') return undefined;
  const id = projects.get(parent.id);
  return id === undefined ? 'missing' : { type: 'projects', id };
}

async function assign(
  job: Import,
  source: RemoteResource,
  made: RemoteResource,
  ids: Record<string, Ids>,
): Promise<void> {
  for (const type of targets) {
    const has = relations(made, type);
    const wanted = relations(source, type).flatMap((id) => ids[type]?.get(id) || []);
    const data = wanted.filter((id) => !has.includes(id)).map((id) => ({ type, id }));
    if (data.length > 0 && !job.plan) await job.to.act(`varsets/${made.id}/relationships/${type}`, { data });
  }
}
