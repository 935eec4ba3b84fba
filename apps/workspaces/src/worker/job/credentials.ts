import { setTimeout as sleep } from 'node:timers/promises';
import type { OutsideResponse } from '@keystead/outside';
import type { Logger } from '@keystead/server';
import { z } from 'zod';
import type { JobVariable, RunJob } from '../../resources/runs/runs/jobs/jobs';
import { postSecrets, revokeToken } from '../../resources/runs/runs/jobs/secrets-service';
import type { JobSource } from './job-source';

/** What a job is given of the secrets service; nothing where its workspace has no role there. */
export interface JobCredentials {
  readonly environment: readonly JobVariable[];
  /** Texts that must not appear in the log. */
  readonly secrets: readonly string[];
  /** The job is over: the token and everything made with it ends. */
  end(): Promise<void>;
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

const attempts = 3;
const none: JobCredentials = { environment: [], secrets: [], end: async () => {} };

/**
 * Logs a job in at the secrets service with its own identity token, and keeps the token it gets alive until the
 * end. The token is recorded before it is used, so that the cleanup after a dead worker can revoke it. Throws
 * NoCredentials.
 */
export async function credentialsFor(source: JobSource, log: Logger, job: RunJob): Promise<JobCredentials> {
  const given = await logIn(source, job);
  if (!given) return none;
  const { auth, address, namespace } = given;
  const { client_token: token, accessor } = auth;
  let id: string;
  try {
    id = await source.keepToken(job, { token, accessor, namespace });
  } catch (error) {
    await revokeToken(address, namespace, token).catch(() => undefined);
    throw error;
  }
  const renewing = setInterval(
    () => {
      postSecrets(address, 'auth/token/renew-self', { namespace, token })
        .then(
          (answer) =>
            answer.status < 300 || log.warn({ status: answer.status }, 'the credentials of a run were not renewed'),
        )
        .catch((error) => log.warn({ err: error }, 'the credentials of a run were not renewed'));
    },
    Math.max(1000, Math.min(2 ** 31 - 1, auth.lease_duration * 500)),
  );
  renewing.unref();
  if (!auth.renewable || auth.lease_duration === 0) clearInterval(renewing);
  return {
    environment: environmentOf(address, namespace, token),
    secrets: [token],
    async end() {
      clearInterval(renewing);
      try {
        await revokeToken(address, namespace, token);
        await source.forgetToken(job, id);
      } catch (error) {
        log.warn({ err: error }, 'the credentials of a run are not revoked yet');
      }
    },
  };
}

async function logIn(source: JobSource, job: RunJob) {
  for (let attempt = 1; ; attempt++) {
    const login = await source.login(job);
    if (!login) return undefined;
    if ('problem' in login) throw new NoCredentials(login.problem);
    const { role, namespace, address, mount, jwt } = login;
    const path = `auth/${mount}/login`;
    const answer = await postSecrets(address, path, { namespace, body: { role, jwt } }).catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status < 300) {
      const parsed = Answer.safeParse(answer.json);
      if (!parsed.success) throw new NoCredentials(`${path} of the secrets service answered no token`);
      return { auth: parsed.data.auth, address, namespace };
    }
    const isOver = !(answer instanceof Error) && answer.status < 500;
    if (isOver || attempt === attempts) {
      const why = answer instanceof Error ? 'it cannot be reached' : `${answer.status} ${reasonOf(answer)}`;
      throw new NoCredentials(`the secrets service gave no credentials for role ${JSON.stringify(role)}: ${why}`);
    }
    await sleep(500 * attempt);
  }
}

function reasonOf(answer: OutsideResponse): string {
  const parsed = Errors.safeParse(answer.json);
  return parsed.success ? parsed.data.errors.join('; ').slice(0, 500) : '';
}

/** The names under which the service's own command line and existing tools and providers look. */
function environmentOf(address: string, namespace: string, token: string): JobVariable[] {
  const named = {
    SERVICE_ADDR: address,
    SERVICE_TOKEN: token,
    VAULT_ADDR: address,
    VAULT_TOKEN: token,
    ...(namespace === '' ? {} : { SERVICE_NAMESPACE: namespace, VAULT_NAMESPACE: namespace }),
  };
  return Object.entries(named).map(([key, value]) => ({ key, value, hcl: false, sensitive: true }));
}
