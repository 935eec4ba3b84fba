import { exitCodes, Problem } from '../../problem';
import { Refused } from '../refused';
import { carryMethod, carryTokenRoles } from './auth';
import { carry } from './carry';
import { carryEngine } from './engines';
import { carryIdentity } from './identity';
import { attempt, findHere, labelOf, type NamespacePair, namesThere, type VaultImport } from './job';
import { copySecrets } from './kv';
import { type CarriedMount, carryMounts } from './mounts';
import { reportNotCopied } from './not-copied';
import { carryPolicies } from './policies';
import type { SecretsServer } from './server';

/** The content of a namespace that is copied after all namespaces have their mounts. */
interface Furnished {
  readonly place: NamespacePair;
  readonly engines: readonly CarriedMount[];
  readonly methods: readonly CarriedMount[];
}

/** Copies a secrets server, with everything below its namespace. Throws `Problem` if either server cannot be used. */
export async function importVault(job: VaultImport): Promise<void> {
  for (const side of [job.from, job.to]) await checkToken(side);
  const furnished: Furnished[] = [];
  await furnish({ job, from: job.from, to: job.to, exists: true }, furnished);
  // Policies may name mounts and groups of any namespace, so mounts and groups are copied first.
  for (const { place } of furnished) await carryIdentity(place);
  for (const { place, engines, methods } of furnished) {
    job.progress.begin(`namespace ${place.from.namespace || 'root'}`);
    await carryPolicies(place);
    for (const method of methods) await carryMethod(place, method);
    await carryTokenRoles(place);
    for (const engine of engines) await fill(place, engine);
    await reportNotCopied(place);
  }
  job.report.manualStep('tokens, leases, cubbyholes and the creation times of versions are never copied');
}

async function furnish(place: NamespacePair, furnished: Furnished[]): Promise<void> {
  const engines = await carryMounts(place, 'secret');
  const methods = await carryMounts(place, 'auth');
  furnished.push({ place, engines, methods });
  for await (const name of namesThere(place, 'sys/namespaces')) {
    const inner = await attempt(place.job, () => namespaceHere(place, name.replace(/\/$/, '')));
    if (inner) await furnish(inner, furnished);
  }
}

/** The target of a namespace, created if it does not exist. */
async function namespaceHere(place: NamespacePair, name: string): Promise<NamespacePair> {
  const { job, from, to } = place;
  const path = `sys/namespaces/${name}`;
  const there = await from.find(path);
  const here = await findHere(place, path);
  if (here) job.report.skip('namespace');
  else {
    const custom_metadata = there?.custom_metadata ?? {};
    if (!job.dryRun) await to.write(path, { custom_metadata });
    job.report.add('namespace');
  }
  return { job, from: from.within(name), to: to.within(name), exists: place.exists && Boolean(here || !job.dryRun) };
}

async function fill(place: NamespacePair, mount: CarriedMount): Promise<void> {
  const { job, from } = place;
  const { path, type, versioned } = mount;
  job.progress.begin(`secrets engine ${labelOf(place, path)}`);
  if (type !== 'kv') return carryEngine(place, mount);
  if (versioned) {
    const there = await attempt(job, () => from.find(`${path}config`));
    const isUnset = ({ max_versions, cas_required, delete_version_after }: Record<string, unknown>) =>
      !max_versions && !cas_required && (!delete_version_after || delete_version_after === '0s');
    if (there && !isUnset(there)) await carry(place, { kind: 'configuration', path: `${path}config`, there, isUnset });
  }
  await attempt(job, () => copySecrets(place, path, versioned), labelOf(place, path));
}

async function checkToken(side: SecretsServer): Promise<void> {
  try {
    await side.find('auth/token/lookup-self');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Problem(`${side.name} does not know the token: ${error.reason}`, exitCodes.refused);
  }
}
