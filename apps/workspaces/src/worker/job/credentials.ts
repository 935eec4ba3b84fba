import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyring } from '@keystead/keyring';
import type { Logger } from '@keystead/server';
import { z } from 'zod';
import type { Database } from '../../kernel/database/database';
import { newId } from '../../kernel/database/ids';
import {
  identityToken,
  type SecretsLogin,
  secretsLoginOf,
} from '../../resources/installation/identity-tokens/identity-token';
import type { JobVariable, RunJob } from '../../resources/runs/runs/jobs/jobs';

/** The secrets service that runs get credentials from. */
export interface SecretsService {
  /** Without a slash at the end. */
  readonly address: string;
  /** Where its login with signed tokens is mounted, below `auth/`. */
  readonly mount: string;
  readonly audience: string;
  /** Who signs: the public address of the workspace service. */
  readonly issuer: string;
}

/** What a job is given of the secrets service; nothing where its workspace has no role there. */
export interface JobCredentials {
  readonly environment: readonly JobVariable[];
  /** Texts that must not stand in the log. */
  readonly secrets: readonly string[];
  /** The job is over: the token and everything made with it ends. */
  end(): Promise<void>;
}

/** What credentials are made and ended with. */
export interface CredentialParts {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly workerId: string;
  readonly log: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Undefined: runs that ask for credentials fail. */
  readonly service: SecretsService | undefined;
}

/** No credentials; the message is for the person whose run it is. */
export class NoCredentials extends Error {
  override readonly name = 'NoCredentials';
}

const Answer = z.object({
  auth: z.object({
    client_token: z.string().min(1),
    accessor: z.string().max(200).default(''),
    lease_duration: z.number(),
    renewable: z.boolean(),
  }),
});
const Errors = z.object({ errors: z.array(z.string()) });

const timeoutMs = 15_000;
const attempts = 3;
const none: JobCredentials = { environment: [], secrets: [], end: async () => {} };
const cell = (id: string) => ({ table: 'run_credential', row: id, column: 'sealed' });

async function post(
  service: SecretsService,
  path: string,
  given: { namespace: string; token?: string; body?: object },
): Promise<Response> {
  return fetch(`${service.address}/v1/${path}`, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'Content-Type': 'application/json',
      ...(given.namespace === '' ? {} : { 'X-Vault-Namespace': given.namespace }),
      ...(given.token === undefined ? {} : { 'X-Vault-Token': given.token }),
    },
    body: JSON.stringify(given.body ?? {}),
  });
}

/**
 * Logs a job in at the secrets service with an identity token of its own, and keeps what it was given alive until the
 * end. The token is recorded before it is used, so that whoever cleans up after a dead worker can end it. Throws
 * NoCredentials.
 */
export async function credentialsFor(parts: CredentialParts, job: RunJob): Promise<JobCredentials> {
  const { db, keyring, workerId, service, log } = parts;
  const login = await secretsLoginOf(db, job.workspaceId);
  if (!login) return none;
  if (!service) {
    throw new NoCredentials(
      `the workspace asks for the secrets role ${JSON.stringify(login.role)}, but this worker knows no secrets service: set WORKSPACES_SECRETS_ADDR`,
    );
  }
  const { namespace } = login;
  const auth = await logIn(parts, service, job, login);
  const { client_token: token } = auth;
  const id = newId('cred');
  const sealed = new Uint8Array(keyring.seal(Buffer.from(token), cell(id)));
  try {
    await db.prisma.runCredential.create({ data: { id, jobId: job.id, workerId, namespace, sealed } });
  } catch (error) {
    await revoke(service, namespace, token).catch(() => undefined);
    throw error;
  }
  // By this people find the token in the secrets service; it opens nothing.
  if (auth.accessor !== '') {
    const data = { secretsAccessor: auth.accessor, secretsNamespace: namespace };
    await db.prisma.runPhase.updateMany({ where: { id: job.kind === 'plan' ? job.planId : job.applyId }, data });
  }
  const renewing = setInterval(
    () => {
      post(service, 'auth/token/renew-self', { namespace, token })
        .then((answer) => answer.ok || log.warn({ status: answer.status }, 'the credentials of a run were not renewed'))
        .catch((error) => log.warn({ err: error }, 'the credentials of a run were not renewed'));
    },
    Math.max(1000, Math.min(2 ** 31 - 1, auth.lease_duration * 500)),
  );
  renewing.unref();
  if (!auth.renewable || auth.lease_duration === 0) clearInterval(renewing);
  return {
    environment: environmentOf(service, namespace, token),
    secrets: [token],
    async end() {
      clearInterval(renewing);
      try {
        await revoke(service, namespace, token);
        await db.prisma.runCredential.deleteMany({ where: { id } });
      } catch (error) {
        log.warn({ err: error }, 'the credentials of a run are not revoked yet');
      }
    },
  };
}

async function logIn(parts: CredentialParts, service: SecretsService, job: RunJob, login: SecretsLogin) {
  const { db, keyring, now } = parts;
  const { issuer, audience, mount } = service;
  const path = `auth/${mount}/login`;
  for (let attempt = 1; ; attempt++) {
    const jwt = await identityToken(db, keyring, { issuer, audience, job, login, nowMs: now() });
    const body = { role: login.role, jwt };
    const answer = await post(service, path, { namespace: login.namespace, body }).catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.ok) {
      const parsed = Answer.safeParse(await answer.json().catch(() => undefined));
      if (!parsed.success) throw new NoCredentials(`${path} of the secrets service answered no token`);
      return parsed.data.auth;
    }
    const isOver = !(answer instanceof Error) && answer.status < 500;
    if (isOver || attempt === attempts) {
      const why = answer instanceof Error ? 'it cannot be reached' : `${answer.status} ${await reasonOf(answer)}`;
      throw new NoCredentials(`the secrets service gave no credentials for role ${JSON.stringify(login.role)}: ${why}`);
    }
    await sleep(500 * attempt);
  }
}

async function reasonOf(answer: Response): Promise<string> {
  const parsed = Errors.safeParse(await answer.json().catch(() => undefined));
  return parsed.success ? parsed.data.errors.join('; ').slice(0, 500) : '';
}

/** Ends a token; one that is over already is as good. */
async function revoke(service: SecretsService, namespace: string, token: string): Promise<void> {
  const answer = await post(service, 'auth/token/revoke-self', { namespace, token });
  if (!answer.ok && answer.status !== 403) throw new Error(`revoke-self answered ${answer.status}`);
}

/** The names under which the service's own command line and existing tools and providers look. */
function environmentOf(service: SecretsService, namespace: string, token: string): JobVariable[] {
  const named = {
    SERVICE_ADDR: service.address,
    SERVICE_TOKEN: token,
    VAULT_ADDR: service.address,
    VAULT_TOKEN: token,
    ...(namespace === '' ? {} : { SERVICE_NAMESPACE: namespace, VAULT_NAMESPACE: namespace }),
  };
  return Object.entries(named).map(([key, value]) => ({ key, value, hcl: false, sensitive: true }));
}

interface Left {
  readonly id: string;
  readonly namespace: string;
  readonly sealed: Uint8Array;
}

/** Revokes tokens whose job is over or was lost with its worker. Answers how many. */
export async function revokeLeftCredentials(parts: CredentialParts): Promise<number> {
  const { db, keyring, service, log } = parts;
  if (!service) return 0;
  const left = await db.prisma.$queryRaw<Left[]>`
    SELECT c.id, c.namespace, c.sealed FROM run_credential c
     WHERE NOT EXISTS (SELECT 1 FROM run_job j WHERE j.id = c.job_id AND j.worker_id = c.worker_id
                          AND j.state IN ('claimed', 'started') AND j.claimed_until > now())
     ORDER BY c.created_at LIMIT 100`;
  let revoked = 0;
  for (const { id, namespace, sealed } of left) {
    try {
      await revoke(service, namespace, keyring.open(sealed, cell(id)).toString('utf8'));
      await db.prisma.runCredential.deleteMany({ where: { id } });
      revoked++;
    } catch (error) {
      log.warn({ err: error }, 'credentials that a worker left are not revoked yet');
    }
  }
  return revoked;
}
