import { setTimeout as sleep } from 'node:timers/promises';
import type { OutsideResponse } from '@keystead/outside';
import type { Logger } from '@keystead/server';
import { z } from 'zod';
import { postSecrets, revokeToken } from '../../resources/runs/runs/jobs/inputs';
import type { JobLogin, JobVariable, RunJob } from '../../resources/runs/runs/jobs/job';
import { type DeclaredIdentity, declaredIdentities } from '../../resources/workspaces/identities/declared-identities';
import { type GivenIdentity, IdentityFiles, secretsEnvironment, vaultCa } from '../tool/identity-files';
import type { Concealer } from '../tool/run-log';
import type { JobSource } from './job-source';

/** The credentials for a job's logins at other systems; empty if its workspace requests none. */
export interface JobCredentials {
  readonly environment: readonly JobVariable[];
  /** In the formats that providers read. */
  readonly identity?: IdentityFiles;
  /** Warnings for the person who started the run. */
  readonly remark?: string;
  /** Called when the job has ended. Revokes the tokens and everything created with them. */
  end(): Promise<void>;
}

/** No credentials are available. The message is for the user who started the run. */
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

type Place = Exclude<JobLogin, { problem: string }>;

const attempts = 3;
/** Tokens in files are replaced long before they expire. */
const renewEveryMs = 20 * 60_000;

/**
 * The functions that end everything that was started for a job. They are called when the job ends, even if a later step
 * failed.
 */
class Endings {
  private readonly all: (() => Promise<unknown>)[] = [];

  add(ending: () => Promise<unknown>): void {
    this.all.push(ending);
  }

  async end(): Promise<void> {
    await Promise.all(this.all.splice(0).map((ending) => ending()));
  }
}

/**
 * Gives a job the credentials that its workspace requests: a login at the secrets service with its role, and identities
 * for the providers in its `environment`. Removes everything that it created before it throws NoCredentials.
 */
export async function credentialsFor(
  source: JobSource,
  log: Logger,
  job: RunJob,
  concealer: Pick<Concealer, 'add'>,
  environment: readonly JobVariable[] = [],
): Promise<JobCredentials> {
  const endings = new Endings();
  try {
    const login = await logIn(source, job);
    let own: JobVariable[] = [];
    if (login) {
      await hold(source, log, job, login, true, endings);
      concealer.add(login.token);
      const named = secretsEnvironment(login.address, login.namespace, login.token);
      own = Object.entries(named).map(([key, value]) => ({ key, value, hcl: false, sensitive: true }));
    }
    const more = await identitiesFor(source, log, job, environment, { concealer, endings });
    return { environment: own, ...more, end: () => endings.end() };
  } catch (error) {
    await endings.end();
    throw error;
  }
}

async function logIn(source: JobSource, job: RunJob) {
  const login = await source.login(job);
  return login && loggedIn(login, () => source.login(job));
}

/** The identities that the variables request, each with its token. */
async function identitiesFor(
  source: JobSource,
  log: Logger,
  job: RunJob,
  environment: readonly JobVariable[],
  { concealer, endings }: { concealer: Pick<Concealer, 'add'>; endings: Endings },
): Promise<Pick<JobCredentials, 'identity' | 'remark'>> {
  const { identities, problems } = declaredIdentities(
    new Map(environment.map((one) => [one.key, one.value])),
    job.kind === 'apply' ? 'apply' : 'plan',
  );
  if (identities.length === 0 && problems.length === 0) return {};
  const answer = await source.identities(job);
  if ('withheld' in answer) return { remark: `This run has no identity tokens: ${answer.withheld}.` };
  if (problems.length > 0) throw new NoCredentials(problems.join('; '));
  const { tokens, secretsAddress } = answer;
  const identitiesWithTokens: GivenIdentity[] = [];
  for (const identity of identities) {
    const jwt = tokens[identity.audience];
    if (jwt === undefined) throw new NoCredentials(`the service gave no identity token for ${identity.audience}`);
    concealer.add(jwt);
    if (identity.kind !== 'vault') {
      identitiesWithTokens.push({ ...identity, token: jwt });
      continue;
    }
    const place = vaultPlace(identity, jwt);
    const { token, ...auth } = await loggedIn(place, async () => place);
    await hold(source, log, job, { ...auth, token }, place.address === secretsAddress, endings);
    concealer.add(token);
    identitiesWithTokens.push({ ...identity, token });
  }
  const files = new IdentityFiles(identitiesWithTokens, job.runId);
  const renewing = setInterval(() => {
    source
      .identities(job)
      .then(async (newer) => {
        if ('withheld' in newer) return;
        concealer.add(...Object.values(newer.tokens));
        await files.renew(newer.tokens);
      })
      .catch((error) => log.warn({ err: error }, 'the identity tokens of a run were not renewed'));
  }, renewEveryMs);
  renewing.unref();
  endings.add(async () => {
    clearInterval(renewing);
    await files.close();
  });
  return { identity: files };
}

function vaultPlace({ settings }: DeclaredIdentity, jwt: string): Place {
  const { ADDR = '', ROLE = '', NAMESPACE = '', AUTH_PATH = 'jwt' } = settings;
  const mount = AUTH_PATH.replace(/^\/+|(?<!\/)\/+$/g, '').replace(/^auth\//, '');
  return {
    role: ROLE,
    namespace: NAMESPACE,
    address: ADDR.replace(/(?<!\/)\/+$/, ''),
    mount,
    jwt,
    ca: vaultCa(settings),
  };
}

/** A login at the secrets service or Vault. */
interface LoggedIn extends Pick<Place, 'address' | 'namespace' | 'ca'> {
  readonly token: string;
  readonly accessor: string;
  readonly lease_duration: number;
  readonly renewable: boolean;
}

/**
 * Keeps a token alive until the end, and then revokes it. A `recorded` token was reported to the service before its
 * first use, so that the cleanup after a dead worker can revoke it.
 */
async function hold(
  source: JobSource,
  log: Logger,
  job: RunJob,
  { token, accessor, address, namespace, ca, lease_duration: seconds, renewable }: LoggedIn,
  recorded: boolean,
  endings: Endings,
): Promise<void> {
  let id: string | undefined;
  try {
    if (recorded) id = await source.keepToken(job, { token, accessor, namespace });
  } catch (error) {
    await revokeToken(address, namespace, token, ca).catch(() => undefined);
    throw error;
  }
  const renewing = setInterval(
    () => {
      postSecrets(address, 'auth/token/renew-self', { namespace, token, ca })
        .then(
          (answer) =>
            answer.status < 300 || log.warn({ status: answer.status }, 'the credentials of a run were not renewed'),
        )
        .catch((error) => log.warn({ err: error }, 'the credentials of a run were not renewed'));
    },
    Math.max(1000, Math.min(2 ** 31 - 1, seconds * 500)),
  );
  renewing.unref();
  if (!renewable || seconds === 0) clearInterval(renewing);
  endings.add(async () => {
    clearInterval(renewing);
    try {
      await revokeToken(address, namespace, token, ca);
      if (id !== undefined) await source.forgetToken(job, id);
    } catch (error) {
      log.warn({ err: error }, 'the credentials of a run have not been revoked yet');
    }
  });
}

/** Logs in with an identity token. `again` returns the address and a new token for another attempt. */
async function loggedIn(first: JobLogin, again: () => Promise<JobLogin | undefined>): Promise<LoggedIn> {
  let login: JobLogin | undefined = first;
  for (let attempt = 1; ; attempt++) {
    if (!login) throw new NoCredentials('the workspace no longer has a role in the secrets service');
    if ('problem' in login) throw new NoCredentials(login.problem);
    const { role, namespace, address, mount, jwt, ca } = login;
    const path = `auth/${mount}/login`;
    const sent = { namespace, body: { role, jwt }, ca };
    const answer = await postSecrets(address, path, sent).catch((error: Error) => error);
    if (!(answer instanceof Error) && answer.status < 300) {
      const parsed = Answer.safeParse(answer.json);
      if (!parsed.success) throw new NoCredentials(`${path} of the secrets service answered no token`);
      const { client_token: token, ...auth } = parsed.data.auth;
      return { ...auth, token, address, namespace, ca };
    }
    const isOver = !(answer instanceof Error) && answer.status < 500;
    if (isOver || attempt === attempts) {
      const why = answer instanceof Error ? 'it cannot be reached' : `${answer.status} ${reasonOf(answer)}`;
      throw new NoCredentials(`the secrets service gave no credentials for role ${JSON.stringify(role)}: ${why}`);
    }
    await sleep(500 * attempt);
    login = await again();
  }
}

function reasonOf(answer: OutsideResponse): string {
  const parsed = Errors.safeParse(answer.json);
  return parsed.success ? parsed.data.errors.join('; ').slice(0, 500) : '';
}
