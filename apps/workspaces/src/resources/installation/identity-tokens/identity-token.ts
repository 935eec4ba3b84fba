import { randomUUID } from 'node:crypto';
import { signJwt } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import { signingKey } from '../../../kernel/installation/identity-keys';

/** The plan or apply that an identity token describes. */
const about = [
  'organization_id',
  'organization_name',
  'project_id',
  'project_name',
  'workspace_id',
  'workspace_name',
  'full_workspace',
  'run_id',
  'run_phase',
] as const;

/** The claims of an identity token, under the names that other issuers use, and under those of HCP Terraform. */
export const claimNames: readonly string[] = [
  ...['iss', 'sub', 'aud', 'iat', 'nbf', 'exp', 'jti'],
  ...about,
  ...about.map((name) => `terraform_${name}`),
];

/**
 * A workspace, with the names and ids in the identities of its runs, and the role and namespace that its runs use to
 * get credentials of the secrets service.
 */
export interface WorkspaceIdentity {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  /**
   * The role of the workspace, or of its project if the workspace has none. If empty or null, runs get no credentials.
   */
  readonly role: string | null;
  /** The namespace of the secrets service; empty for the root namespace. */
  readonly namespace: string;
}

/** The plan or apply that an identity belongs to. */
export interface IdentifiedPhase {
  readonly kind: 'plan' | 'apply';
  readonly runId: string;
}

/** The lifetime in seconds of a token for a login at the secrets service, and of a run's own identity token. */
const lives = { login: 300, given: 3600 };

/** The identity of a workspace's runs; undefined if the workspace no longer exists. */
export async function workspaceIdentity(db: Database, id: string): Promise<WorkspaceIdentity | undefined> {
  const [row] = await db.prisma.$queryRaw<WorkspaceIdentity[]>`
    SELECT coalesce(w.secrets_role, p.secrets_role) AS role,
           coalesce(CASE WHEN w.secrets_role IS NULL THEN coalesce(w.secrets_namespace, p.secrets_namespace)
                ELSE w.secrets_namespace END, '') AS namespace,
           p.id AS "projectId", p.name AS "projectName", w.id AS "workspaceId", w.name AS "workspaceName",
           o.id AS "organizationId", o.name AS "organizationName"
      FROM workspace w JOIN project p ON p.id = w.project_id JOIN organization o ON o.id = w.organization_id WHERE w.id = ${id}`;
  return row;
}

/**
 * The claims of an identity in addition to audience and times. `subject` consists of ids, which are never reused, or of
 * names, as HCP Terraform documents. If the name of an organization looks like an id, the subject consists of ids, so
 * that a name never equals the id of another object.
 */
export function claimsOf(of: WorkspaceIdentity, { kind, runId }: IdentifiedPhase, subject: 'ids' | 'names') {
  const named = subject === 'names' && !/^org-\w{16}$/.test(of.organizationName);
  const place = (organization: string, project: string, workspace: string) =>
    `organization:${organization}:project:${project}:workspace:${workspace}`;
  const names = place(of.organizationName, of.projectName, of.workspaceName);
  const claims: Record<(typeof about)[number], string> = {
    organization_id: of.organizationId,
    organization_name: of.organizationName,
    project_id: of.projectId,
    project_name: of.projectName,
    workspace_id: of.workspaceId,
    workspace_name: of.workspaceName,
    full_workspace: names,
    run_id: runId,
    run_phase: kind,
  };
  const documented = Object.entries(claims).map(([name, value]) => [`terraform_${name}`, value]);
  return {
    sub: `${named ? names : place(of.organizationId, of.projectId, of.workspaceId)}:run_phase:${kind}`,
    ...claims,
    ...(Object.fromEntries(documented) as Record<string, string>),
  };
}

/**
 * A token that proves that its bearer is the plan or apply of a certain run. Valid for five minutes for a login, and
 * for an hour for tokens given to the run.
 */
export async function identityToken(
  db: Database,
  keyring: Keyring,
  { issuer, audience, claims, lasts, nowMs }: IdentityRequest,
): Promise<string> {
  const now = Math.floor(nowMs / 1000);
  const when = { iat: now, nbf: now, exp: now + lives[lasts], jti: randomUUID() };
  return signJwt({ iss: issuer, aud: audience, ...when, ...claims }, await signingKey(db, keyring, nowMs));
}

interface IdentityRequest {
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ReturnType<typeof claimsOf>;
  readonly lasts: keyof typeof lives;
  readonly nowMs: number;
}
