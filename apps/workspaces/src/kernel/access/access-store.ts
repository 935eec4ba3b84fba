import { withFreshPlan } from '@keystead/postgres';
import { LRUCache } from 'lru-cache';
import type { Pool, QueryResultRow } from 'pg';
import type { Database, KeyedRead } from '../database/database';
import { maxLifeOf } from '../installation/token-lives';
import { Access, type OrganizationMembership, type TeamGrants } from './access';
import { enabledRanges, foundRanges } from './address-ranges';
import type { Mask } from './capabilities';
import type { Principal } from './principal';

interface CachedMembership {
  readonly epoch: string;
  readonly membership: OrganizationMembership;
}

interface CachedGrants {
  readonly revision: string;
  readonly grants: TeamGrants;
}

interface MembershipRow {
  organization_id: string;
  epoch: string;
  requires_two_factor: boolean;
  disabled: boolean;
  allows_force_delete: boolean;
  user_tokens_enabled: boolean;
  user_token_max_ms: number | null;
  session_timeout: number | null;
  session_remember: number | null;
  only_from: string[] | null;
  member: boolean;
  teams: { id: string; rights: number; owners: boolean; revision: string }[] | null;
}

interface GrantsRow {
  team_id: string;
  revision: string;
  workspaces: Record<string, number> | null;
  projects: Record<string, number> | null;
  around: Record<string, Mask> | null;
}

const readEpochs: KeyedRead = {
  name: 'access_epochs',
  text: 'SELECT organization_id AS key, epoch FROM access_epoch WHERE organization_id = ANY($1)',
  quick: true,
};

// One statement, so that epoch, membership and teams are read at the same moment.
const readStanding = {
  name: 'access_standing',
  text: `
SELECT o.id AS organization_id, e.epoch, o.is_disabled AS disabled,
       o.collaborator_auth_policy = 'two_factor_mandatory' AS requires_two_factor,
       o.allow_force_delete_workspaces AS allows_force_delete, o.user_tokens_enabled,
       ${maxLifeOf("'user'")} AS user_token_max_ms, o.session_timeout, o.session_remember,
       ${enabledRanges("l.organization_id = o.id AND l.enforcement_scope = 'organization'")} AS only_from,
       CASE $3 WHEN 'organization' THEN o.id = $2
               WHEN 'team' THEN EXISTS (SELECT 1 FROM team t WHERE t.id = $2 AND t.organization_id = o.id)
               ELSE m.id IS NOT NULL END AS member,
       (SELECT json_agg(json_build_object('id', t.id, 'rights', t.rights, 'owners', t.is_owners,
                                          'revision', t.grants_revision::text) ORDER BY t.id)
          FROM team t
         WHERE t.organization_id = o.id
           AND CASE $3 WHEN 'team' THEN t.id = $2
                       ELSE t.id IN (SELECT tm.team_id FROM team_member tm WHERE tm.membership_id = m.id) END) AS teams
  FROM organization o
  JOIN access_epoch e ON e.organization_id = o.id
  LEFT JOIN membership m ON $3 = 'user' AND m.organization_id = o.id AND m.user_id = $2 AND m.status = 'active'
 WHERE o.id = ANY($1) AND o.removed_at IS NULL`,
};

const readGrants = {
  name: 'access_grants',
  text: `
SELECT t.id AS team_id, t.grants_revision AS revision,
       (SELECT json_object_agg(workspace_id, capabilities) FROM team_workspace WHERE team_id = t.id) AS workspaces,
       (SELECT json_object_agg(project_id, capabilities) FROM team_project WHERE team_id = t.id) AS projects,
       (SELECT json_object_agg(a.project_id, a.capabilities)
          FROM (SELECT w.project_id, bit_or(tw.capabilities) AS capabilities
                  FROM team_workspace tw JOIN workspace w ON w.id = tw.workspace_id
                 WHERE tw.team_id = t.id GROUP BY w.project_id) a) AS around
  FROM team t WHERE t.id = ANY($1)`,
};

/**
 * Loads access snapshots and caches them. A cached snapshot is never outdated, on any node.
 *
 * Each organization has an epoch in the database, which triggers increase with every change of members, teams, grants
 * and the settings that rules depend on. A request reads the epoch by key (simultaneous requests share the query), and
 * only a snapshot loaded under that epoch is reused. A team's grants are cached separately, under their own revision,
 * so that a change of one team does not reload all the others.
 */
export class AccessStore {
  private readonly memberships = new LRUCache<string, CachedMembership>({ maxSize: 20_000, sizeCalculation: () => 1 });
  private readonly grants = new LRUCache<string, CachedGrants>({
    maxSize: 2_000_000,
    sizeCalculation: ({ grants }) => grants.workspaces.size + grants.projects.size + grants.around.size + 1,
  });

  constructor(
    private readonly pool: Pool,
    private readonly db: Database,
    private readonly now: () => number = Date.now,
  ) {}

  /** The access to one organization, loaded at least as recently as an epoch that this request has read. */
  loadAt(principal: Principal, organizationId: string, epoch: string): Access | Promise<Access> {
    const cached = this.memberships.get(key(principal, organizationId));
    const access = (found: readonly OrganizationMembership[]) => new Access(principal, found, this.now());
    return cached?.epoch === epoch ? access([cached.membership]) : this.read(principal, [organizationId]).then(access);
  }

  /** The caller's access to the named organizations (`org-…` ids); unknown and removed organizations give no access. */
  async load(principal: Principal, organizationIds: readonly string[]): Promise<Access> {
    const ids = [...new Set(organizationIds)];
    const epochs = await Promise.all(ids.map((id) => this.epochOf(id)));
    const found: OrganizationMembership[] = [];
    const stale: string[] = [];
    ids.forEach((id, index) => {
      const cached = this.memberships.get(key(principal, id));
      if (epochs[index] === undefined) return;
      if (cached?.epoch === epochs[index]) found.push(cached.membership);
      else stale.push(id);
    });
    if (stale.length > 0) found.push(...(await this.read(principal, stale)));
    return new Access(principal, found, this.now());
  }

  private async epochOf(organizationId: string): Promise<string | undefined> {
    return (await this.db.readOne<{ key: string; epoch: string }>(readEpochs, organizationId))?.epoch;
  }

  private async read(principal: Principal, ids: readonly string[]): Promise<OrganizationMembership[]> {
    const { rows } = await withFreshPlan(() =>
      this.pool.query<MembershipRow>({ ...readStanding, values: [ids, principal.id, principal.kind] }),
    );
    const teams = await this.readTeams(rows.flatMap((row) => row.teams ?? []));
    return rows.map((row) => {
      const membership = buildMembership(row, teams);
      this.memberships.set(key(principal, row.organization_id), { epoch: row.epoch, membership });
      return membership;
    });
  }

  // The grants may be newer than the epoch of the membership. This does no harm, because the next request sees the
  // newer epoch and reads again.
  private async readTeams(teams: readonly { id: string; revision: string }[]): Promise<Map<string, TeamGrants>> {
    const result = new Map<string, TeamGrants>();
    const stale: string[] = [];
    for (const { id, revision } of teams) {
      const cached = this.grants.get(id);
      if (cached?.revision === revision) result.set(id, cached.grants);
      else stale.push(id);
    }
    if (stale.length === 0) return result;
    const { rows } = await withFreshPlan(() => this.pool.query<GrantsRow>({ ...readGrants, values: [stale] }));
    for (const row of rows) {
      const grants = grantsOf(row);
      this.grants.set(row.team_id, { revision: row.revision, grants });
      result.set(row.team_id, grants);
    }
    return result;
  }
}

/** The current access to one organization, not cached. Inside a transaction, it includes the transaction's changes. */
export async function readAccess(db: Database, principal: Principal, organizationId: string): Promise<Access> {
  const values = [[organizationId], principal.id, principal.kind];
  const rows = await db.execute<MembershipRow & QueryResultRow>({ ...readStanding, values });
  const ids = rows.flatMap((row) => row.teams ?? []).map(({ id }) => id);
  const found = ids.length === 0 ? [] : await db.execute<GrantsRow & QueryResultRow>({ ...readGrants, values: [ids] });
  const grants = new Map(found.map((row) => [row.team_id, grantsOf(row)]));
  return new Access(
    principal,
    rows.map((row) => buildMembership(row, grants)),
  );
}

function grantsOf({ workspaces, projects, around }: GrantsRow): TeamGrants {
  return {
    workspaces: new Map(Object.entries(workspaces ?? {})),
    projects: new Map(Object.entries(projects ?? {})),
    around: new Map(Object.entries(around ?? {})),
  };
}

function key(principal: Principal, organizationId: string): string {
  return `${principal.kind} ${principal.id} ${organizationId}`;
}

function buildMembership(row: MembershipRow, grants: ReadonlyMap<string, TeamGrants>): OrganizationMembership {
  const teams = row.teams ?? [];
  return {
    organizationId: row.organization_id,
    member: row.member,
    owner: teams.some((team) => team.owners),
    rights: teams.reduce((all, team) => all | team.rights, 0),
    teamIds: teams.map((team) => team.id),
    grants: teams.map((team) => grants.get(team.id)).filter((found) => found !== undefined),
    requiresTwoFactor: row.requires_two_factor,
    disabled: row.disabled,
    allowsForceDelete: row.allows_force_delete,
    refusesUserTokens: !row.user_tokens_enabled,
    userTokenMaxMs: row.user_token_max_ms,
    sessionTimeoutMinutes: row.session_timeout,
    sessionRememberMinutes: row.session_remember,
    onlyFrom: foundRanges(row.only_from),
  };
}
