import { attempt, type Ids, type Import, listOrReport, make, once } from './import';
import { pick, relation } from './resource';

const settings = {
  workspace: ['access', 'runs', 'variables', 'state-versions', 'workspace-locking', 'run-tasks'],
  project: ['access', 'project-access', 'workspace-access'],
} as const;

/** Copies what teams may do in a workspace or a project. */
export async function copyAccess(
  job: Import,
  on: 'workspace' | 'project',
  label: string,
  from: string,
  to: string,
  teams: Ids,
): Promise<void> {
  const type = `team-${on}s`;
  const path = (id: string) => `${type}?filter%5B${on}%5D%5Bid%5D=${id}`;
  const grants = await listOrReport(job, `team access to ${on}s`, label, path(from));
  if (grants.length === 0) return;
  const before = new Map((to ? await job.to.list(path(to)) : []).map((grant) => [relation(grant, 'team'), grant]));
  for (const grant of grants) {
    const team = teams.get(relation(grant, 'team') ?? '');
    if (team === undefined) continue;
    const custom = grant.attributes.access === 'custom';
    const draft = {
      type,
      attributes: pick(grant, custom ? settings[on] : ['access']),
      relationships: {
        team: { data: { type: 'teams', id: team } },
        [on]: { data: { type: `${on}s`, id: to } },
      },
    };
    await attempt(job, label, () => once(job, 'grant', before.get(team), () => make(job, label, type, draft)));
  }
}
