import { invalid } from '@keystead/jsonapi';
import type { Database } from '../../../kernel/database/database';

/** A workspace, and the project for which the settings are checked. */
export interface Goal {
  readonly id: string;
  readonly organizationId: string;
  readonly projectId: string;
}

/** The settings of a workspace that refer to objects which not every workspace may use. */
interface Uses {
  readonly agentPoolId: string | null;
  readonly oauthTokenId: string | null;
  /** The installation of an app, if any. In this case, `oauthTokenId` is its token. */
  readonly vcsInstallationId: string | null;
  readonly vcsIdentifier: string | null;
}

/**
 * Whether a workspace may use an agent pool: the pool must be open to the whole organization, to the project, or to the
 * workspace, and must not exclude the workspace. Undefined if the organization does not have this pool.
 */
export async function isPoolOpen(
  db: Database,
  { id: workspaceId, organizationId, projectId }: Goal,
  poolId: string,
): Promise<boolean | undefined> {
  const pool = await db.prisma.agentPool.findFirst({
    where: { id: poolId, organizationId },
    select: {
      organizationScoped: true,
      allowed: { where: { workspaceId } },
      projects: { where: { projectId } },
      excluded: { where: { workspaceId } },
    },
  });
  if (pool === null) return undefined;
  const { organizationScoped, allowed, projects, excluded } = pool;
  return excluded.length === 0 && (organizationScoped || allowed.length > 0 || projects.length > 0);
}

async function requirePool(db: Database, goal: Goal, poolId: string): Promise<void> {
  const open = await isPoolOpen(db, goal, poolId);
  if (open === undefined) throw invalid('agentPoolId', 'was not found');
  if (!open) throw invalid('agentPoolId', 'Agent pool workspace does not have access to use this agent pool');
}

const withProject = /^[^/]+\/[^/]+\/_git\/[^/]+$/;
const plain = /^[^/]+\/[^/]+$/;

/** The form of a provider's repository names; GitLab has nested groups. */
function isIdentifierOf(provider: string, identifier: string): boolean {
  if (provider.startsWith('ado_')) return withProject.test(identifier);
  return provider.startsWith('gitlab_') ? !withProject.test(identifier) : plain.test(identifier);
}

async function requireConnection(
  db: Database,
  { organizationId, projectId }: Goal,
  { oauthTokenId: tokenId, vcsInstallationId, vcsIdentifier: identifier }: Uses & { readonly oauthTokenId: string },
): Promise<void> {
  const open = { OR: [{ organizationScoped: true }, { projects: { some: { projectId } } }] };
  const found = await db.prisma.oauthToken.findFirst({
    where: {
      id: tokenId,
      oauthClient: { organizationId, ...open },
      installation: vcsInstallationId === null ? { is: null } : { isNot: null },
    },
    select: { oauthClient: { select: { serviceProvider: true } } },
  });
  if (found === null) {
    const [named, kind] =
      vcsInstallationId === null
        ? (['oauthTokenId', 'connections'] as const)
        : (['vcshostAppInstallationId', 'app installations'] as const);
    throw invalid(['vcsRepo', named], `was not found among the ${kind} that the project may use`);
  }
  const provider = found.oauthClient.serviceProvider;
  if (identifier !== null && !isIdentifierOf(provider, identifier)) {
    const form = provider.startsWith('ado_') ? ':org/:project/_git/:repo' : ':org/:repo';
    throw invalid(['vcsRepo', 'identifier'], `must have the form ${form} with this provider`);
  }
}

/**
 * Checks the parts of new settings that need the database: that the pool and the connection exist, and that the
 * workspace may use them in its project, or in the project to which it is `moved`. Throws `invalid`.
 */
export async function requireAllowed(db: Database, goal: Goal, before: Uses | 'moved', after: Uses): Promise<void> {
  const changed = (key: keyof Uses) => before === 'moved' || before[key] !== after[key];
  if (after.agentPoolId !== null && changed('agentPoolId')) {
    await requirePool(db, goal, after.agentPoolId);
  }
  if (after.oauthTokenId !== null && (changed('oauthTokenId') || changed('vcsIdentifier'))) {
    await requireConnection(db, goal, { ...after, oauthTokenId: after.oauthTokenId });
  }
}
