import { randomUUID } from 'node:crypto';
import { signJwt } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import { signingKey } from '../../../kernel/installation/identity-keys';

/** What a token says of the plan or apply it is for. */
export interface IdentifiedJob {
  readonly kind: 'plan' | 'apply';
  readonly runId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationId: string;
  readonly organizationName: string;
}

/** What an identity token says, in the words that other issuers of such tokens use. */
export const claimNames = [
  'iss',
  'sub',
  'aud',
  'iat',
  'nbf',
  'exp',
  'jti',
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

/** Where the runs of a workspace get credentials of the secrets service. */
export interface SecretsLogin {
  readonly role: string;
  /** Empty for the root namespace. */
  readonly namespace: string;
  readonly projectId: string;
  readonly projectName: string;
}

const livesSeconds = 300;

interface RunIdentityRow {
  readonly role: string | null;
  readonly namespace: string | null;
  readonly projectId: string;
  readonly projectName: string;
}

/** The role of a workspace: its own, else its project's. Undefined where there is none, or an empty one. */
export async function secretsLoginOf(db: Database, workspaceId: string): Promise<SecretsLogin | undefined> {
  const [row] = await db.prisma.$queryRaw<RunIdentityRow[]>`
    SELECT coalesce(w.secrets_role, p.secrets_role) AS role,
           CASE WHEN w.secrets_role IS NULL THEN coalesce(w.secrets_namespace, p.secrets_namespace)
                ELSE w.secrets_namespace END AS namespace,
           p.id AS "projectId", p.name AS "projectName"
      FROM workspace w JOIN project p ON p.id = w.project_id WHERE w.id = ${workspaceId}`;
  return row?.role ? { ...row, role: row.role, namespace: row.namespace ?? '' } : undefined;
}

/** Proves which run's plan or apply the bearer is; good for five minutes. Its subject consists of ids, which are never reused. */
export async function identityToken(
  db: Database,
  keyring: Keyring,
  about: { issuer: string; audience: string; job: IdentifiedJob; login: SecretsLogin; nowMs: number },
): Promise<string> {
  const { issuer, audience, job, login, nowMs } = about;
  const now = Math.floor(nowMs / 1000);
  const workspace = `organization:${job.organizationName}:project:${login.projectName}:workspace:${job.workspaceName}`;
  const claims: Record<(typeof claimNames)[number], string | number> & { iat: number } = {
    iss: issuer,
    sub: `organization:${job.organizationId}:project:${login.projectId}:workspace:${job.workspaceId}:run_phase:${job.kind}`,
    aud: audience,
    iat: now,
    nbf: now,
    exp: now + livesSeconds,
    jti: randomUUID(),
    organization_id: job.organizationId,
    organization_name: job.organizationName,
    project_id: login.projectId,
    project_name: login.projectName,
    workspace_id: job.workspaceId,
    workspace_name: job.workspaceName,
    full_workspace: workspace,
    run_id: job.runId,
    run_phase: job.kind,
  };
  return signJwt(claims, await signingKey(db, keyring, nowMs));
}
