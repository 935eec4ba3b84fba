import { invalid, type Page } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { notFound } from '@keystead/refusal';
import type { Prisma, PolicySet as Row, VcsRepository } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { partOfText } from '../../../kernel/database/like';
import { lockRow } from '../../../kernel/database/lock-row';
import type { CheckedRepository } from '../../connections/repositories/check';
import { folderOf, followedBy, lookAtRepository } from '../../connections/repositories/follow';
import { keepRepository } from '../../connections/repositories/repository';
import type { PolicyKind, TagSelector } from '../../runs/runs/stages/policies';

/** A set of policies, and the workspaces it applies to. */
export interface PolicySet extends Omit<Row, 'tagSelectors'> {
  readonly organization: string;
  /** The repository of its versions; undefined if they are uploaded. */
  readonly repository: VcsRepository | undefined;
  /** Whether its connection is an installation of a GitHub app. */
  readonly isInstallation: boolean;
  readonly tagSelectors: readonly TagSelector[];
  readonly policyIds: readonly string[];
  readonly workspaces: readonly WorkspaceTarget[];
  readonly workspaceExclusions: readonly WorkspaceTarget[];
  readonly projectIds: readonly string[];
  readonly projectExclusionIds: readonly string[];
  readonly newestVersionId: string | null;
  /** The newest version whose files could be read. */
  readonly currentVersionId: string | null;
}

/** The repository that versions of a set come from, as its host describes it. */
export interface SetSource {
  readonly oauthTokenId: string;
  readonly vcsIdentifier: string;
  readonly vcsBranch: string | null;
  readonly vcsIngressSubmodules: boolean;
  readonly found: CheckedRepository;
}

/** The settings of a set in a request, without its members. */
interface PolicySetInput {
  readonly name?: string;
  readonly kind?: PolicyKind | null;
  readonly description?: string | null;
  readonly global?: boolean | null;
  readonly overridable?: boolean | null;
  readonly agentEnabled?: boolean | null;
  readonly policyToolVersion?: string | null;
  readonly policyUpdatePatterns?: readonly string[] | null;
  readonly policiesPath?: string | null;
}

/** The member lists of a set. */
export const memberKinds = [
  'policies',
  'workspaces',
  'workspace-exclusions',
  'projects',
  'project-exclusions',
] as const;
export type MemberKind = (typeof memberKinds)[number];

/** Ids of members, by the list that they belong to. */
export type Members = { readonly [K in MemberKind]?: readonly string[] };

const mostSets = 500;
/** The limit for one policy set, because its policies are copied into each run for which they are evaluated. */
const mostPolicies = 200;

const target = { select: { id: true, projectId: true, organizationId: true } } as const;
const whole = {
  organization: { select: { name: true } },
  oauthToken: { select: { installation: { select: { id: true } } } },
  policies: { select: { policyId: true }, orderBy: { policyId: 'asc' } },
  workspaces: { select: { excluded: true, workspace: target }, orderBy: { workspaceId: 'asc' } },
  projects: { select: { excluded: true, projectId: true }, orderBy: { projectId: 'asc' } },
} as const;

async function setsWhere(db: Database, where: Prisma.PolicySetWhereInput, page?: Page): Promise<PolicySet[]> {
  const rows = await db.prisma.policySet.findMany({
    where: { ...where, organization: { removedAt: null } },
    include: whole,
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  const newest = await newestVersions(
    db,
    rows.map(({ id }) => id),
  );
  const repositoryOf = await followedBy(db, rows);
  return rows.map(({ organization, oauthToken, policies, workspaces, projects, tagSelectors, ...row }) => {
    const reached = (excluded: boolean) =>
      workspaces.flatMap((one) => (one.excluded === excluded ? [one.workspace] : []));
    const within = (excluded: boolean) => projects.flatMap((one) => (one.excluded === excluded ? [one.projectId] : []));
    return {
      ...row,
      organization: organization.name,
      repository: repositoryOf(row),
      isInstallation: Boolean(oauthToken?.installation),
      tagSelectors: tagSelectors as unknown as readonly TagSelector[],
      policyIds: policies.map(({ policyId }) => policyId),
      workspaces: reached(false),
      workspaceExclusions: reached(true),
      projectIds: within(false),
      projectExclusionIds: within(true),
      newestVersionId: newest.get(row.id)?.newest ?? null,
      currentVersionId: newest.get(row.id)?.current ?? null,
    };
  });
}

async function newestVersions(db: Database, ids: readonly string[]) {
  const rows = await db.prisma.$queryRaw<{ id: string; newest: string; current: string | null }[]>`
    SELECT policy_set_id AS id, (array_agg(id ORDER BY created_at DESC, id DESC))[1] AS newest,
           (array_agg(id ORDER BY created_at DESC, id DESC) FILTER (WHERE status = 'ready'))[1] AS current
      FROM policy_set_version WHERE policy_set_id = ANY(${[...ids]}) GROUP BY policy_set_id`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Sets by id, in no particular order; unknown ids are left out. */
export const findSets = (db: Database, ids: readonly string[]): Promise<PolicySet[]> =>
  setsWhere(db, { id: { in: [...ids] } });

/** A page of the sets of an organization, by name. */
export async function listSets(
  db: Database,
  organizationId: string,
  { name, kind }: { readonly name?: string; readonly kind?: string },
  page: Page,
) {
  const where: Prisma.PolicySetWhereInput = {
    organizationId,
    ...(name ? { name: partOfText(name) } : {}),
    ...(kind ? { kind } : {}),
  };
  return { items: await setsWhere(db, where, page), total: await db.prisma.policySet.count({ where }) };
}

const facts = (set: PolicySet) => ({
  name: set.name,
  kind: set.kind,
  global: set.global,
  overridable: set.overridable,
  policyToolVersion: set.policyToolVersion,
  vcsIdentifier: set.vcsIdentifier,
  vcsBranch: set.vcsBranch,
  policiesPath: set.policiesPath,
  tagSelectors: set.tagSelectors,
  policyIds: set.policyIds,
  workspaceIds: set.workspaces.map(({ id }) => id),
  workspaceExclusionIds: set.workspaceExclusions.map(({ id }) => id),
  projectIds: set.projectIds,
  projectExclusionIds: set.projectExclusionIds,
});

/** An audit event about a set. */
export function setChange({ id, organizationId, name }: PolicySet, verb: string) {
  return { organizationId, action: `policy-set.${verb}`, target: { type: 'policy-sets', id, name } };
}

function columnsOf(input: PolicySetInput) {
  const { name, description, global, overridable, agentEnabled, policyToolVersion, policyUpdatePatterns } = input;
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description: description ?? '' }),
    ...(global == null ? {} : { global }),
    ...(overridable == null ? {} : { overridable }),
    ...(agentEnabled == null ? {} : { agentEnabled }),
    ...(policyToolVersion === undefined ? {} : { policyToolVersion: policyToolVersion || null }),
    ...(policyUpdatePatterns == null ? {} : { policyUpdatePatterns: [...policyUpdatePatterns] }),
  };
}

/**
 * Creates a set with its members. Throws `invalid` for members outside the organization, and for policies of another
 * kind.
 */
export async function createSet(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  organizationId: string,
  input: PolicySetInput & { readonly name: string },
  members: Members,
  selectors: readonly TagSelector[],
  source: SetSource | null | undefined,
): Promise<PolicySet> {
  const id = newId('polset');
  const kind = input.kind ?? 'sentinel';
  return db.transaction(async (tx) => {
    await lockRow(tx, 'organization', organizationId);
    if ((await tx.prisma.policySet.count({ where: { organizationId } })) >= mostSets) {
      throw invalid('name', `has reached its limit: an organization can have at most ${mostSets} policy sets`);
    }
    await requireToolVersion(tx, kind, input.policyToolVersion);
    await tx.prisma.policySet.create({
      // OPA policies are evaluated with either value of `agentEnabled`, so their default is true.
      data: { id, organizationId, kind, agentEnabled: kind === 'opa', ...columnsOf(input), name: input.name },
    });
    await followFromNow(tx, keyring, { id, oauthTokenId: null, vcsIdentifier: null }, source, input.policiesPath);
    for (const list of memberKinds) {
      if (members[list]) await addTo(tx, { id, organizationId, kind }, list, members[list]);
    }
    await tx.prisma.policySet.update({ where: { id }, data: { tagSelectors: selectors.map((one) => ({ ...one })) } });
    const set = still((await findSets(tx, [id]))[0]);
    await recordChange(tx, actor, { ...setChange(set, 'create'), after: facts(set) });
    return set;
  });
}

/** Throws `invalid` for a version that site administrators have disabled. */
async function requireToolVersion({ prisma }: Database, tool: string, version: string | null | undefined) {
  if (!version) return;
  if ((await prisma.infraVersion.count({ where: { tool, version, enabled: false } })) > 0) {
    throw invalid('policyToolVersion', 'is disabled by site administrators');
  }
}

/**
 * Changes the repository or the folder that a policy set follows, or makes it stop following a repository. Existing
 * versions are kept. Throws `invalid`.
 */
async function followFromNow(
  tx: Database,
  keyring: Keyring,
  before: Pick<Row, 'id' | 'oauthTokenId' | 'vcsIdentifier'>,
  source: SetSource | null | undefined,
  path: string | null | undefined,
): Promise<void> {
  if (source === undefined && path == null) return;
  const { id } = before;
  const { found, ...columns } = source ?? { found: undefined };
  const follows = source === undefined ? before.oauthTokenId !== null : source !== null;
  if (path && !follows) throw invalid('policiesPath', 'is only for sets that follow a repository');
  const withoutSource = {
    oauthTokenId: null,
    vcsIdentifier: null,
    vcsBranch: null,
    vcsIngressSubmodules: false,
    policiesPath: '',
    policiesPathSent: null,
  };
  const data = {
    ...(source === null ? withoutSource : columns),
    ...(path == null ? {} : { policiesPath: folderOf(path), policiesPathSent: path }),
    seenCommit: null,
    vcsError: null,
  };
  await tx.prisma.policySet.update({ where: { id }, data });
  if (source) {
    const place = { tokenId: source.oauthTokenId, identifier: source.vcsIdentifier };
    await keepRepository(tx, keyring, place, found);
    if ((await tx.prisma.policySetPolicy.count({ where: { policySetId: id } })) > 0) {
      throw invalid('vcsRepo', 'is only for sets without policies: remove them first');
    }
  } else await lookAtRepository(tx, before);
}

/** Changes a set under its lock, with one event. */
async function changeSet(
  db: Database,
  actor: Actor,
  id: string,
  verb: string,
  change: (tx: Database, before: PolicySet) => Promise<unknown>,
): Promise<PolicySet> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'policy_set', id);
    const [before] = await findSets(tx, [id]);
    if (!before) throw notFound();
    await change(tx, before);
    await tx.prisma.policySet.update({ where: { id }, data: { updatedAt: new Date() } });
    const after = still((await findSets(tx, [id]))[0]);
    await recordChange(tx, actor, { ...setChange(after, verb), before: facts(before), after: facts(after) });
    return after;
  });
}

/** Changes the settings of a policy set that are in a request. Lists in the request replace the existing ones. */
export function updateSet(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  { id }: PolicySet,
  input: Omit<PolicySetInput, 'kind'>,
  members: Members,
  source: SetSource | null | undefined,
): Promise<PolicySet> {
  return changeSet(db, actor, id, 'update', async (tx, before) => {
    const { policyToolVersion: chosen } = input;
    if (chosen !== before.policyToolVersion) await requireToolVersion(tx, before.kind, chosen);
    await tx.prisma.policySet.update({ where: { id }, data: columnsOf(input) });
    await followFromNow(tx, keyring, before, source, input.policiesPath);
    for (const list of memberKinds) {
      if (!members[list]) continue;
      await removeFrom(tx, id, list);
      await addTo(tx, before, list, members[list]);
    }
  });
}

/** Adds members to a list of a set. Throws `invalid` for members outside its organization. */
export const addMembers = (db: Database, actor: Actor, { id }: PolicySet, list: MemberKind, ids: readonly string[]) =>
  changeSet(db, actor, id, 'assign', (tx, before) => addTo(tx, before, list, ids));

/** Removes members from a list of a set; ids that are not in the list are ignored. */
export const removeMembers = (
  db: Database,
  actor: Actor,
  { id }: PolicySet,
  list: MemberKind,
  ids: readonly string[],
) => changeSet(db, actor, id, 'assign', (tx) => removeFrom(tx, id, list, ids));

const sameTag = (one: TagSelector, other: TagSelector): boolean =>
  one.key === other.key && one.value === other.value && one.isExclude === other.isExclude;

/** Adds or removes tags that select the workspaces of a set, or the workspaces that it excludes. */
export function changeSelectors(
  db: Database,
  actor: Actor,
  { id }: PolicySet,
  verb: 'add' | 'remove',
  selectors: readonly TagSelector[],
): Promise<PolicySet> {
  return changeSet(db, actor, id, 'assign', async (tx, { tagSelectors }) => {
    const others = tagSelectors.filter((one) => !selectors.some((other) => sameTag(one, other)));
    const all = verb === 'add' ? [...others, ...selectors] : others;
    if (all.length > mostSelectors) throw invalid('data', `has too many members (maximum is ${mostSelectors})`);
    await tx.prisma.policySet.update({ where: { id }, data: { tagSelectors: all.map((one) => ({ ...one })) } });
  });
}

/** The maximum number of tags of a set. */
export const mostSelectors = 100;

async function addTo(
  tx: Database,
  { id, organizationId, kind }: Pick<Row, 'id' | 'organizationId' | 'kind'>,
  list: MemberKind,
  members: readonly string[],
): Promise<void> {
  const ids = [...new Set(members)];
  const where = { id: { in: ids }, organizationId };
  const { prisma } = tx;
  const [, singular = ''] = /^(policies|workspace|project)/.exec(list) ?? [];
  const found =
    singular === 'policies'
      ? await prisma.policy.count({ where: { ...where, kind } })
      : singular === 'workspace'
        ? await prisma.workspace.count({ where })
        : await prisma.project.count({ where });
  if (found < ids.length) {
    throw invalid(
      list,
      singular === 'policies' ? `were not all found, or are not of kind ${kind}` : 'were not all found',
    );
  }
  const excluded = list.endsWith('exclusions');
  const skipDuplicates = true;
  if (singular === 'policies') {
    const versions = await prisma.policySetVersion.count({ where: { policySetId: id } });
    const follows = await prisma.policySet.count({ where: { id, oauthTokenId: { not: null } } });
    if (versions + follows > 0 && ids.length > 0) throw invalid(list, 'come from the versions of this set');
    await prisma.policySetPolicy.createMany({
      data: ids.map((policyId) => ({ policySetId: id, policyId })),
      skipDuplicates,
    });
    if ((await prisma.policySetPolicy.count({ where: { policySetId: id } })) > mostPolicies) {
      throw invalid(list, `are too many: a set has ${mostPolicies} at most`);
    }
  } else if (singular === 'workspace') {
    const data = ids.map((workspaceId) => ({ policySetId: id, workspaceId, excluded }));
    await prisma.policySetWorkspace.createMany({ data, skipDuplicates });
  } else {
    const data = ids.map((projectId) => ({ policySetId: id, projectId, excluded }));
    await prisma.policySetProject.createMany({ data, skipDuplicates });
  }
}

async function removeFrom(tx: Database, policySetId: string, list: MemberKind, ids?: readonly string[]): Promise<void> {
  const { prisma } = tx;
  const some = ids && { in: [...ids] };
  const excluded = list.endsWith('exclusions');
  if (list === 'policies') await prisma.policySetPolicy.deleteMany({ where: { policySetId, policyId: some } });
  else if (list.startsWith('workspace')) {
    await prisma.policySetWorkspace.deleteMany({ where: { policySetId, excluded, workspaceId: some } });
  } else await prisma.policySetProject.deleteMany({ where: { policySetId, excluded, projectId: some } });
}

/** Deletes a set with its versions and parameters. Its policies stay. */
export async function removeSet(db: Database, actor: Actor, set: PolicySet): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.policySet.deleteMany({ where: { id: set.id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...setChange(set, 'delete'), before: facts(set) });
  });
}
