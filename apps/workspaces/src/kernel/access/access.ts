import type { AddressRanges } from '@keystead/outside';
import {
  everyRight,
  hasRight,
  holds,
  type Mask,
  maskOf,
  type OrganizationRight,
  type ProjectCapability,
  projectAdmin,
  projectFloor,
  type Rights,
  rightsOf,
  type WorkspaceCapability,
  withImplied,
  workspaceAdmin,
  workspaceFloor,
  workspaceOwner,
} from './capabilities';
import type { Principal } from './principal';

/** The properties of a workspace that permission rules need. */
export interface WorkspaceTarget {
  readonly id: string;
  readonly projectId: string;
  readonly organizationId: string;
}

/** The properties of a project that permission rules need. */
export interface ProjectTarget {
  readonly id: string;
  readonly organizationId: string;
}

/**
 * The grants of one team: masks by workspace and by project, and for its workspace grants the projects that contain
 * them.
 */
export interface TeamGrants {
  readonly workspaces: ReadonlyMap<string, Mask>;
  readonly projects: ReadonlyMap<string, Mask>;
  readonly around: ReadonlyMap<string, Mask>;
}

/** The permissions of a team on workspaces and projects, as one mask each. */
export interface GivenGrants {
  readonly workspaces: readonly { readonly id: string; readonly projectId: string; readonly mask: Mask }[];
  readonly projects: readonly { readonly id: string; readonly mask: Mask }[];
}

/** The caller's access to one organization. Built by the access store; `teamIds` are the caller's own teams. */
export interface OrganizationMembership {
  readonly organizationId: string;
  /** Whether the caller is an active member, one of the organization's teams, or the organization itself. */
  readonly member: boolean;
  readonly owner: boolean;
  readonly rights: Rights;
  readonly teamIds: readonly string[];
  readonly grants: readonly TeamGrants[];
  readonly requiresTwoFactor: boolean;
  /** Whether a site administrator has suspended the organization, so that no request may use it. */
  readonly disabled: boolean;
  readonly allowsForceDelete: boolean;
  /** Whether people may use the organization only after signing in, not with API tokens. */
  readonly refusesUserTokens: boolean;
  /** User API tokens with a longer lifetime are refused; null means no limit. */
  readonly userTokenMaxMs: number | null;
  /** The organization's limits on sessions, in minutes; null means the limits of the installation. */
  readonly sessionTimeoutMinutes: number | null;
  readonly sessionRememberMinutes: number | null;
  /** The addresses from which the organization may be used. Site administrators are not limited. */
  readonly onlyFrom?: AddressRanges;
}

/**
 * The permissions of an organization's own token: those of administrators, except planning, applying, cancelling, and
 * uploading state.
 */
const organizationTokenMask = workspaceAdmin & ~maskOf('runs:plan', 'runs:apply', 'state:write');

const organizationTokenRights = rightsOf(
  'manage-workspaces',
  'manage-projects',
  'manage-vcs-settings',
  'manage-agent-pools',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
);

const mapOf = (memberships: readonly OrganizationMembership[]): ReadonlyMap<string, OrganizationMembership> =>
  new Map(memberships.map((membership) => [membership.organizationId, membership]));

/** The common case: one organization, without a map. */
class SingleMembership {
  constructor(private readonly membership: OrganizationMembership) {}

  get(organizationId: string): OrganizationMembership | undefined {
    return this.membership.organizationId === organizationId ? this.membership : undefined;
  }
}

/**
 * The permissions of the caller: a snapshot of some organizations, pure and synchronous.
 *
 * An organization that was not loaded, or in which the caller is not a member, gives no access.
 */
export class Access {
  /** The organizations of this snapshot. */
  readonly organizationIds: readonly string[];
  private readonly memberships: Pick<ReadonlyMap<string, OrganizationMembership>, 'get'>;
  /**
   * The workspace that was checked last. It is cached because a workspace has about twenty rules, which are checked one
   * after the other.
   */
  private last: { workspace: WorkspaceTarget; mask: Mask } | undefined;

  constructor(
    readonly principal: Principal,
    memberships: readonly OrganizationMembership[],
    private readonly nowMs: number = Date.now(),
  ) {
    this.organizationIds = memberships.map(({ organizationId }) => organizationId);
    this.memberships = memberships.length === 1 ? new SingleMembership(memberships[0]!) : mapOf(memberships);
  }

  /** The caller's membership, unless the organization's rules for tokens, two-factor or sessions exclude the caller. */
  private effective(organizationId: string): OrganizationMembership | undefined {
    const membership = this.memberships.get(organizationId);
    return membership && !this.barred(membership) ? membership : undefined;
  }

  private barred(membership: OrganizationMembership): boolean {
    const { kind, twoFactor, session, requested } = this.principal;
    if (membership.disabled || this.isElsewhere(membership)) return true;
    if (kind !== 'user') return false;
    if (membership.requiresTwoFactor && !twoFactor) return true;
    if (requested === 'earlier') return false;
    if (!session) return this.whyRefused(membership) !== undefined;
    const { sessionRememberMinutes: remember, sessionTimeoutMinutes: timeout } = membership;
    const tooOld = remember !== null && this.nowMs - session.startedAtMs > remember * 60_000;
    const restedMs = Math.max(session.longestRestMs, this.nowMs - session.idleSinceMs);
    return tooOld || (timeout !== null && restedMs > timeout * 60_000);
  }

  /**
   * Whether the caller's address is outside the allowed ranges. False for agents, because their pools limit them, and
   * for runs, because they come from the addresses of their workers.
   */
  private isElsewhere({ onlyFrom }: OrganizationMembership): boolean {
    const { kind, address, siteAdmin } = this.principal;
    if (onlyFrom === undefined || address === undefined || siteAdmin) return false;
    return kind !== 'agent' && kind !== 'run' && !onlyFrom.has(address);
  }

  private whyRefused({ refusesUserTokens, userTokenMaxMs }: OrganizationMembership): 'kind' | 'life' | undefined {
    const { tokenLifeMs = Number.POSITIVE_INFINITY } = this.principal;
    if (refusesUserTokens) return 'kind';
    return userTokenMaxMs !== null && tokenLifeMs > userTokenMaxMs ? 'life' : undefined;
  }

  /**
   * The reason why the organization refuses a member with this API token: it accepts no user API tokens, or no tokens
   * with such a long lifetime.
   */
  refusedToken(organizationId: string): 'kind' | 'life' | undefined {
    const { kind, session, requested } = this.principal;
    const membership =
      kind === 'user' && !session && requested === undefined ? this.memberships.get(organizationId) : undefined;
    return membership?.member === true ? this.whyRefused(membership) : undefined;
  }

  /** True for a token that can read only the audit trails of the organization. */
  isAuditToken(organizationId: string): boolean {
    const { kind, organizationId: own } = this.principal;
    if (kind !== 'audit-trails' || own !== organizationId) return false;
    const membership = this.memberships.get(organizationId);
    return membership === undefined || !this.isElsewhere(membership);
  }

  /** True for the token of a run of the organization. */
  isRunOf(organizationId: string): boolean {
    const { kind, organizationId: own } = this.principal;
    return kind === 'run' && own === organizationId && this.effective(organizationId) !== undefined;
  }

  /** True for a user token (API token or session). */
  get isUser(): boolean {
    return this.principal.kind === 'user';
  }

  /** True for the organization's own token. */
  isOrganizationToken(organizationId: string): boolean {
    return this.principal.kind === 'organization' && this.principal.organizationId === organizationId;
  }

  /**
   * Whether the caller may know that the organization exists: members, tokens of the organization, and site
   * administrators.
   */
  canTraverse(organizationId: string): boolean {
    return this.principal.siteAdmin || this.memberships.get(organizationId)?.member === true;
  }

  /** Whether the caller is an active member who meets the organization's sign-in rules. */
  isMember(organizationId: string): boolean {
    return this.effective(organizationId)?.member === true;
  }

  /** Whether the caller is in the owners team, or has its token. */
  isOwner(organizationId: string): boolean {
    return this.effective(organizationId)?.owner === true;
  }

  /** Whether the caller belongs to the team. */
  inTeam(team: { readonly id: string; readonly organizationId: string }): boolean {
    return this.effective(team.organizationId)?.teamIds.includes(team.id) === true;
  }

  /**
   * Whether the caller has the permission in the organization, directly or through a permission that implies it. Owners
   * have all permissions.
   */
  can(organizationId: string, right: OrganizationRight): boolean {
    return hasRight(this.rights(organizationId), right);
  }

  /**
   * Whether the caller may use the capability on the workspace, by the union of organization, project and workspace
   * grants.
   */
  has(workspace: WorkspaceTarget, capability: WorkspaceCapability): boolean {
    return holds(this.workspaceMask(workspace), capability);
  }

  /** Whether the caller may use the capability on the project itself. */
  hasProject(project: ProjectTarget, capability: ProjectCapability): boolean {
    return holds(this.projectMask(project), capability);
  }

  /** All capabilities of the caller on the workspace, as one number, which can be a cache key. */
  workspaceMask(workspace: WorkspaceTarget): Mask {
    if (this.last?.workspace !== workspace) this.last = { workspace, mask: this.unionOver(workspace) };
    return this.last.mask;
  }

  private unionOver(workspace: WorkspaceTarget): Mask {
    const membership = this.effective(workspace.organizationId);
    if (!membership?.member) return 0;
    let mask = this.workspaceFloor(workspace.organizationId);
    for (const grants of membership.grants) {
      mask |= grants.workspaces.get(workspace.id) ?? 0;
      mask |= grants.projects.get(workspace.projectId) ?? 0;
    }
    return mask & workspaceOwner;
  }

  /**
   * Whether the caller may see the project: through an organization permission, or access to it or to one of its
   * workspaces.
   */
  seesProject(project: ProjectTarget): boolean {
    if (this.hasProject(project, 'project:read')) return true;
    return (this.effective(project.organizationId)?.grants ?? []).some(({ around }) => around.has(project.id));
  }

  /** Whether the caller may read the variables of a workspace of the project through a grant on that workspace. */
  readsVariablesInProject(project: ProjectTarget): boolean {
    const grants = this.effective(project.organizationId)?.grants ?? [];
    return grants.some(({ around }) => holds(around.get(project.id) ?? 0, 'variables:read'));
  }

  /** All capabilities of the caller on the project. */
  projectMask(project: ProjectTarget): Mask {
    const membership = this.effective(project.organizationId);
    if (!membership?.member) return 0;
    let mask = this.projectFloor(project.organizationId);
    for (const grants of membership.grants) mask |= grants.projects.get(project.id) ?? 0;
    return mask & (projectAdmin | workspaceOwner);
  }

  /** The caller's capabilities on every workspace of the organization. */
  workspaceFloor(organizationId: string): Mask {
    if (this.isOwner(organizationId)) return workspaceOwner;
    if (this.isOrganizationToken(organizationId)) return organizationTokenMask;
    return workspaceFloor(this.rights(organizationId));
  }

  /** The caller's capabilities on every project of the organization. */
  projectFloor(organizationId: string): Mask {
    return this.isOwner(organizationId) ? projectAdmin : projectFloor(this.rights(organizationId));
  }

  /** Whether the caller has everything that a project grant would give, on the project and on its workspaces. */
  holdsInProject(project: ProjectTarget, mask: Mask): boolean {
    return (mask & ~(this.projectMask(project) | this.workspaceFloor(project.organizationId))) === 0;
  }

  /**
   * Whether the caller has everything that a team has: its organization permissions, and its access to every workspace
   * and project.
   */
  holdsAll(organizationId: string, rights: Rights, { workspaces, projects }: GivenGrants): boolean {
    return (
      (rights & ~this.rights(organizationId)) === 0 &&
      projects.every(({ id, mask }) => this.holdsInProject({ id, organizationId }, mask)) &&
      workspaces.every(({ mask, ...workspace }) => (mask & ~this.unionOver({ ...workspace, organizationId })) === 0)
    );
  }

  /**
   * Whether the organization allows workspace administrators to delete a workspace that manages resources. Owners
   * always may.
   */
  mayForceDelete(organizationId: string): boolean {
    return this.isOwner(organizationId) || this.effective(organizationId)?.allowsForceDelete === true;
  }

  /** Whether the caller administers at least one workspace of the organization. */
  administersSome(organizationId: string): boolean {
    if (holds(this.workspaceFloor(organizationId), 'settings:write')) return true;
    return this.someGrant(organizationId, 'settings:write');
  }

  /** Whether the caller administers the project, or at least one of its workspaces. */
  administersIn({ id, organizationId }: ProjectTarget): boolean {
    if (holds(this.workspaceFloor(organizationId), 'settings:write')) return true;
    const grants = this.effective(organizationId)?.grants ?? [];
    return grants.some(({ projects, around }) =>
      holds((projects.get(id) ?? 0) | (around.get(id) ?? 0), 'settings:write'),
    );
  }

  /** Whether the caller may create workspaces in at least one project of the organization. */
  createsInSome(organizationId: string): boolean {
    if (holds(this.projectFloor(organizationId), 'workspaces:create')) return true;
    return this.someGrant(organizationId, 'workspaces:create');
  }

  /** Whether the caller may write the variable sets of at least one project. */
  writesSetsOfSomeProject(organizationId: string): boolean {
    if (holds(this.projectFloor(organizationId), 'varsets:write')) return true;
    return this.someGrant(organizationId, 'varsets:write');
  }

  /** The caller's teams in the organization, for SQL that repeats these rules. */
  teamIds(organizationId: string): readonly string[] {
    return this.effective(organizationId)?.teamIds ?? [];
  }

  /** The caller's organization rights, implications included. */
  rights(organizationId: string): Rights {
    const membership = this.effective(organizationId);
    if (!membership?.member) return 0;
    if (membership.owner) return everyRight;
    return withImplied(this.isOrganizationToken(organizationId) ? organizationTokenRights : membership.rights);
  }

  private someGrant(organizationId: string, capability: ProjectCapability | WorkspaceCapability): boolean {
    const grants = this.effective(organizationId)?.grants ?? [];
    return grants.some(({ workspaces, projects }) =>
      [workspaces, projects].some((masks) => [...masks.values()].some((mask) => holds(mask, capability))),
    );
  }
}
