import type { Database, KeyedRead } from '../database/database';
import type { Access, WorkspaceTarget } from './access';
import { readAccess } from './access-store';
import type { WorkspaceCapability } from './capabilities';
import type { Principal, PrincipalKind } from './principal';

/** The caller of a request that takes effect later. */
export interface LinkHolder {
  readonly kind: PrincipalKind;
  readonly id: string;
}

const kinds = { users: 'user', teams: 'team', organizations: 'organization' } as const;
const holderKinds: readonly string[] = [...Object.values(kinds), 'run'];
const kindOf: ReadonlyMap<string, PrincipalKind> = new Map(Object.entries(kinds));

/** Whether links can be created for callers of this kind. */
export const isHolderKind = (kind: string): kind is PrincipalKind => holderKinds.includes(kind);

interface HolderRow {
  readonly [column: string]: unknown;
  readonly key: string;
  readonly name: string;
  readonly organization_id: string | null;
  readonly site_admin: boolean;
  readonly two_factor: boolean;
}

const readHolder: KeyedRead = {
  name: 'holder_standing',
  text: `
SELECT k.key, u.username AS name, NULL AS organization_id, u.site_admin, f.verified_at IS NOT NULL AS two_factor
  FROM unnest($1::text[]) AS k(key) JOIN user_account u ON u.id = substr(k.key, 6) AND u.suspended_at IS NULL
  LEFT JOIN two_factor f ON f.user_id = u.id
 WHERE k.key LIKE 'user %'
UNION ALL
SELECT k.key, t.name, o.id, false, false
  FROM unnest($1::text[]) AS k(key) JOIN team t ON t.id = substr(k.key, 6)
  JOIN organization o ON o.id = t.organization_id AND o.removed_at IS NULL
 WHERE k.key LIKE 'team %'
UNION ALL
SELECT k.key, o.name, o.id, false, false
  FROM unnest($1::text[]) AS k(key) JOIN organization o ON o.id = substr(k.key, 14) AND o.removed_at IS NULL
 WHERE k.key LIKE 'organization %' AND EXISTS (SELECT 1 FROM token t WHERE t.organization_id = o.id
   AND t.kind = 'organization' AND (t.expires_at IS NULL OR t.expires_at > now()))
UNION ALL
SELECT k.key, coalesce(j.run_id, j.phase_id), o.id, false, false
  FROM unnest($1::text[]) AS k(key) JOIN run_job j ON j.id = split_part(substr(k.key, 5), '~', 1)
   AND j.attempt::text = split_part(k.key, '~', 2) AND j.state IN ('claimed', 'started') AND j.claimed_until > now()
  JOIN organization o ON o.removed_at IS NULL AND o.id = coalesce(
    (SELECT w.organization_id FROM run r JOIN workspace w ON w.id = r.workspace_id WHERE r.id = j.run_id),
    (SELECT t.organization_id FROM tool_run t WHERE t.id = j.phase_id))
 WHERE k.key LIKE 'run %'`,
  quick: true,
};

/**
 * The current state of an earlier caller; undefined if the caller is suspended or no longer exists. An organization is
 * returned only while it has a token, and a run only while its job is in progress.
 */
export async function findHolder(db: Database, { kind, id }: LinkHolder): Promise<Principal | undefined> {
  const row = await db.readOne<HolderRow>(readHolder, `${kind} ${id}`);
  if (row === undefined) return undefined;
  return {
    kind,
    id,
    name: row.name,
    tokenId: '',
    organizationId: row.organization_id ?? undefined,
    siteAdmin: row.site_admin,
    twoFactor: row.two_factor,
    requested: 'earlier',
  };
}

/** An earlier caller, as stored in rows. */
interface EarlierAsker {
  readonly type: string | null;
  readonly id: string | null;
}

/**
 * The current permissions of an earlier caller in an organization; undefined if the caller is suspended or no longer
 * exists.
 */
export async function accessNow(db: Database, by: EarlierAsker, organizationId: string): Promise<Access | undefined> {
  const kind = kindOf.get(by.type ?? '');
  const holder = kind && by.id ? await findHolder(db, { kind, id: by.id }) : undefined;
  return holder && readAccess(db, holder, organizationId);
}

/**
 * Whether the caller of an earlier request may still do what it requested. Call it where the request takes effect, with
 * the capability that the request needed.
 */
export async function mayStill(
  db: Database,
  by: EarlierAsker,
  capability: WorkspaceCapability,
  workspace: WorkspaceTarget,
): Promise<boolean> {
  return (await accessNow(db, by, workspace.organizationId))?.has(workspace, capability) === true;
}
