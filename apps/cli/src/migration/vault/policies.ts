import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';

/** Policies that cannot be written on any server. */
const builtIn = ['root', 'response-wrapping', 'control-group'];

/** Copies policies. Accessors and group ids in them are replaced by the target's. */
export async function carryPolicies(place: NamespacePair): Promise<void> {
  for await (const name of namesThere(place, 'sys/policies/acl')) {
    if (!builtIn.includes(name)) await attempt(place.job, () => carryPolicy(place, 'policy', 'acl', name));
  }
  for await (const name of namesThere(place, 'sys/policies/password')) {
    await attempt(place.job, () => carryPolicy(place, 'password policy', 'password', name));
  }
}

async function carryPolicy(place: NamespacePair, kind: string, type: 'acl' | 'password', name: string): Promise<void> {
  const { job, from, to } = place;
  const path = `sys/policies/${type}/${name}`;
  const label = labelOf(place, path);
  const there = await from.find(path);
  if (typeof there?.policy !== 'string') return;
  const policy = translated(there.policy, job.renamed);
  const here = await findHere(place, path);
  if (here) {
    if (String(here.policy).trim() === policy.trim()) return job.report.skip(kind);
    return job.report.manualStep(`${label}: is different here, and stays so`);
  }
  if (type === 'acl' && /identity\.entity\.id\b/.test(policy)) {
    job.report.manualStep(`${label}: contains ids of entities, which differ here`);
  }
  if (!job.dryRun) {
    const { warnings } = await to.write(path, { policy });
    for (const warning of warnings) job.report.manualStep(`${label}: ${warning}`);
  }
  job.report.add(kind);
}

/** The text with the target's accessors and ids. */
function translated(text: string, renamed: ReadonlyMap<string, string>): string {
  return text.replace(/[A-Za-z0-9_-]{8,80}/g, (word) => renamed.get(word) ?? word);
}
