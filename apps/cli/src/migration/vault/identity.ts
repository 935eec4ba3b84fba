import { carry } from './carry';
import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';
import type { Data } from './server';

/** The maximum number of cached ids, so that members of groups need not be looked up again. */
const REMEMBERED = 20_000;

interface Alias extends Data {
  readonly name?: string;
  readonly mount_accessor?: string;
  readonly mount_path?: string;
  readonly custom_metadata?: unknown;
}

/** Copies entities with their aliases, and groups with their members. */
export async function carryIdentity(place: NamespacePair): Promise<void> {
  for await (const id of namesThere(place, 'identity/entity/id')) await carryEntity(place, id);
  const idsHere = new Map<string, string | undefined>();
  // Groups may be members of each other: create all before adding members.
  for await (const id of namesThere(place, 'identity/group/id')) await carryGroup(place, id, idsHere);
  for await (const id of namesThere(place, 'identity/group/id')) await nestGroup(place, id);
}

async function carryEntity(place: NamespacePair, id: string): Promise<void> {
  const { job } = place;
  const there = await attempt(job, () => place.from.find(`identity/entity/id/${id}`));
  if (!there) return;
  const name = String(there.name);
  const path = `identity/entity/name/${name}`;
  await carry(place, {
    kind: 'entity',
    path,
    there: { metadata: there.metadata, policies: there.policies, disabled: there.disabled },
  });
  const here = await attempt(job, () => findHere(place, path));
  const aliases = (here?.aliases ?? []) as Alias[];
  for (const alias of (there.aliases ?? []) as Alias[]) {
    await attempt(job, () => carryAlias(place, 'entity', { name, id: here?.id, aliases }, alias));
  }
  const factors = Object.keys((there.mfa_secrets ?? {}) as object).length;
  if (factors > 0) job.report.manualStep(`${labelOf(place, path)}: second factors are not shown there: enrol again`);
}

async function carryAlias(
  place: NamespacePair,
  of: 'entity' | 'group',
  owner: { name: string; id: unknown; aliases: readonly Alias[] },
  alias: Alias,
): Promise<void> {
  const { job, to } = place;
  const kind = `${of} alias`;
  const accessor = job.renamed.get(String(alias.mount_accessor));
  const label = `${labelOf(place, `identity/${of}/name/${owner.name}`)}: alias ${alias.name}`;
  // In a dry run the mounts of aliases do not exist.
  if (!accessor && !job.dryRun) {
    return job.report.manualStep(`${label} belongs to ${alias.mount_path ?? 'a mount'}, which is not copied`);
  }
  if (owner.aliases.some((one) => one.name === alias.name && one.mount_accessor === accessor)) {
    return job.report.skip(kind);
  }
  if (!job.dryRun) {
    await to.write(`identity/${of}-alias`, {
      name: alias.name,
      canonical_id: owner.id,
      mount_accessor: accessor,
      ...(of === 'entity' && alias.custom_metadata ? { custom_metadata: alias.custom_metadata } : {}),
    });
  }
  job.report.add(kind);
}

async function carryGroup(place: NamespacePair, id: string, idsHere: Map<string, string | undefined>): Promise<void> {
  const { job } = place;
  const there = await attempt(job, () => place.from.find(`identity/group/id/${id}`));
  if (!there) return;
  const name = String(there.name);
  const path = `identity/group/name/${name}`;
  const isExternal = there.type === 'external';
  const member_entity_ids: string[] = [];
  for (const one of isExternal ? [] : ((there.member_entity_ids ?? []) as string[])) {
    const here = await entityHere(place, one, idsHere);
    if (here) member_entity_ids.push(here);
    else if (!job.dryRun) job.report.manualStep(`${labelOf(place, path)}: the entity ${one} in it is not here`);
  }
  await carry(place, {
    kind: 'group',
    path,
    there: { type: there.type, metadata: there.metadata, policies: there.policies, member_entity_ids },
  });
  const here = await attempt(job, () => findHere(place, path));
  if (here?.id) job.renamed.set(id, String(here.id));
  const alias = there.alias as Alias | undefined;
  if (!alias?.name) return;
  const aliases = [here?.alias as Alias | undefined].filter((one): one is Alias => Boolean(one?.name));
  await attempt(job, () => carryAlias(place, 'group', { name, id: here?.id, aliases }, alias));
}

/** Adds the member groups of a group that this run or an earlier one created. */
async function nestGroup(place: NamespacePair, id: string): Promise<void> {
  const { job, to } = place;
  await attempt(job, async () => {
    const there = await place.from.find(`identity/group/id/${id}`);
    const members = (there?.member_group_ids ?? []) as string[];
    if (members.length === 0 || job.dryRun) return;
    const path = `identity/group/name/${String(there?.name)}`;
    const here = await to.find(path);
    const memberIds = (here?.member_group_ids ?? []) as string[];
    const newMemberIds = members.flatMap((one) => job.renamed.get(one) ?? []);
    if (newMemberIds.every((one) => memberIds.includes(one))) return;
    await to.write(path, { member_group_ids: [...new Set([...memberIds, ...newMemberIds])] });
  });
}

/** The target id of a source entity, found by its name, which is the same on both servers. */
async function entityHere(
  place: NamespacePair,
  id: string,
  idsHere: Map<string, string | undefined>,
): Promise<string | undefined> {
  if (idsHere.has(id)) return idsHere.get(id);
  const there = await attempt(place.job, () => place.from.find(`identity/entity/id/${id}`));
  const here = there && (await attempt(place.job, () => findHere(place, `identity/entity/name/${String(there.name)}`)));
  const found = here?.id === undefined ? undefined : String(here.id);
  if (idsHere.size >= REMEMBERED) idsHere.clear();
  idsHere.set(id, found);
  return found;
}
