import { badParameter } from '@keystead/jsonapi';
import { isRefusal, Refusal } from '@keystead/refusal';
import { actorOf } from '../../../kernel/audit/audit';
import { BlobTooLarge, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import type { Endpoint } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { describe, findClosed, heartbeat, releaseJob, started } from '../runs/jobs/claims';
import { forgetToken, jobFile, jobIdentities, jobInputs, jobLogin, keepToken, smallFile } from '../runs/jobs/inputs';
import { fileNames, type RunJob } from '../runs/jobs/job';
import { append, endOf } from '../runs/jobs/logs';
import { findAgent, type Loading } from './agent';
import { finishJob, type Lease, leaseLost, nameUpload, requireBegun, requireLease, saveSent } from './lease';
import * as wire from './protocol';
import { aboutWork, bodyOf, described, gather, json, noContent, numberOf, raw, serialOf, toWire } from './wire';

const job = `${wire.agentPrefix}/agents/:agent_id/jobs/:job_id` as const;
const load = ({ db, principal, params }: Loading) => findAgent(db, principal, params.agent_id);
const octets = 'application/octet-stream';
const bytes = { type: octets, schema: { type: 'string', format: 'binary' } };
const largestPiece = 1024 * 1024;
const largestUpload = 1024 * 1024 * 1024;

/** The dependencies of requests about a job. */
interface JobRequest {
  readonly db: Database;
  readonly env: Environment;
  readonly params: { readonly agent_id: string; readonly job_id: string };
  readonly request: { readonly headers: NodeJS.Dict<string | string[]> };
}

const leaseOf = ({ env, params, request }: JobRequest): Lease =>
  requireLease(env.keyring, params.agent_id, params.job_id, request.headers);

/** The complete job of a lease that is still held. Throws `transition`. */
async function heldJob(call: JobRequest): Promise<RunJob & { readonly isBegun: boolean }> {
  const { id, attempt } = leaseOf(call);
  const found = await describe(call.db, call.env.keyring, id, { workerId: call.params.agent_id, attempt });
  if (!found) throw leaseLost();
  return found;
}

const signing = ({ db, env }: JobRequest) => ({
  db,
  keyring: env.keyring,
  secrets: env.secretsService,
  issuer: env.publicUrl,
  nowMs: env.now(),
});

/** The inputs of a job in the form sent to its agent. */
async function inputsOf({ db, env }: JobRequest, runJob: RunJob) {
  const inputs = await jobInputs(db, env.keyring, runJob, env.publicUrl);
  const { variables, environment, sshKey = null, registry = null, logsIn } = inputs;
  return toWire({ variables, environment, sshKey, registry, logsIn });
}

/** The small files of a job in the form sent to its agent. */
async function filesOf({ db, env }: JobRequest, job: RunJob) {
  const names = fileNames.filter((name) => name !== 'plan' || job.kind === 'apply');
  const found = await Promise.all(
    names.map(async (name) => {
      const bytes = await smallFile(db, env.keyring, job, name, wire.inlineBytes).catch(() => undefined);
      return [name, bytes === null ? null : bytes?.toString('base64')] as const;
    }),
  );
  return Object.fromEntries(found);
}

const starting = raw('POST')(`${job}/start`, {
  ...aboutWork,
  summary: 'Report that the tool is about to run.',
  answers: {
    200: described('The job may start. Where the log continues, and the inputs and small files.', wire.StartAnswer),
  },
  load,
  run: async (call) => {
    const { db, env, params } = call;
    const job = await heldJob(call);
    // If the job has already started, this is a repeated request of an agent that did not receive the answer.
    if (!job.isBegun && !(await started(db, env.keyring, job, params.agent_id))) throw leaseLost();
    // If a job's inputs cannot be read, the job starts and requests them separately, so that its run shows why it ends.
    const [end, inputs, files] = await Promise.all([
      endOf(db, job),
      inputsOf(call, job).catch(() => undefined),
      filesOf(call, job),
    ]);
    return json({ 'log-offset': Number(end), inputs, files });
  },
});

const beating = raw('POST')(`${job}/heartbeat`, {
  ...aboutWork,
  summary: 'Extend the lease of a job. The response says whether the job must stop.',
  body: bodyOf(wire.Beat),
  answers: { 200: described('The agent still holds the job.', wire.BeatAnswer) },
  load,
  run: async (call) => {
    const lease = leaseOf(call);
    const by = { workerId: call.params.agent_id, leaseSeconds: call.body['lease-seconds'] };
    const { mine, cancel } = await heartbeat(call.db, lease as RunJob, by);
    if (!mine && cancel !== 'force-cancel') throw leaseLost();
    return json({ cancel });
  },
});

const inputs = raw('GET')(`${job}/inputs`, {
  ...aboutWork,
  summary: 'Read the variables and the SSH key of a job.',
  answers: { 200: described('Values of the variables after precedence is applied.', wire.InputsAnswer) },
  load,
  run: async (call) => json(await inputsOf(call, await heldJob(call))),
});

const files = fileNames.map((name) =>
  raw('GET')(`${job}/${name}`, {
    ...aboutWork,
    summary: `Download the ${name} that a job works with.`,
    answers: { 200: { description: 'The bytes.', ...bytes }, 204: { description: 'There is no file.' } },
    load,
    run: async (call) => {
      const job = await heldJob(call);
      const body = await jobFile(call.db, call.env.keyring, job, name);
      return body ? { status: 200, headers: { 'Content-Type': octets }, body } : noContent;
    },
  }),
);

const logging = raw('PUT')(`${job}/log`, {
  ...aboutWork,
  summary: 'Append to the log of a job. Sending a piece again has no effect.',
  query: { offset: 'Offset of the piece in the log, in bytes.' },
  refuses: [403, 409, 413],
  takes: octets,
  streams: true,
  answers: { 200: described('The new length of the log.', wire.LogAnswer) },
  load,
  run: async (call) => {
    const lease = leaseOf(call);
    const offset = numberOf(call, 'offset');
    await requireBegun(call.db, call.params.agent_id, lease);
    const piece = await gather(call.request.stream!, largestPiece, 'a piece of a log');
    const end = await append(call.db, call.env.keyring, lease, piece, BigInt(offset));
    if (!end) throw leaseLost();
    if (end.gap)
      throw new Refusal('conflict', `the log ends at offset ${end.size}: send the piece that begins there first`);
    return json({ size: Number(end.size) });
  },
});

const saving = raw('PUT')(`${job}/state`, {
  ...aboutWork,
  summary: 'Upload the state after an apply. It becomes the current state; a state that is refused is quarantined.',
  query: {
    serial: 'The value in the state.',
    lineage: 'The value in the state.',
    md5: 'The MD5 hash of the body, in hexadecimal digits.',
  },
  takes: octets,
  streams: true,
  answers: { 204: { description: 'Taken.' } },
  load,
  run: async (call) => {
    const md5 = call.query.get('md5') ?? '';
    if (!/^[0-9a-f]{32}$/.test(md5)) throw badParameter('md5', 'md5 must be 32 hexadecimal digits');
    const state = {
      serial: serialOf(call),
      lineage: call.query.get('lineage') ?? null,
      md5,
      bytes: call.request.stream!,
    };
    await saveSent(call.db, call.env.keyring, call.params.agent_id, leaseOf(call), state);
    return noContent;
  },
});

const uploads = wire.uploadNames.map((name) =>
  raw('PUT')(`${job}/uploads/${name}`, {
    ...aboutWork,
    summary: `Upload the ${name.replaceAll('-', ' ')} of a job. It is used only if the result names it.`,
    takes: octets,
    streams: true,
    refuses: [403, 409, 413],
    answers: { 201: described('Name of the file in the result.', wire.UploadAnswer) },
    load,
    run: async (call) => {
      const lease = leaseOf(call);
      const { db, env } = call;
      await requireBegun(db, call.params.agent_id, lease);
      const { id } = await writeBlob(db, env.keyring, call.request.stream!, {
        limit: largestUpload,
        provisional: true,
      }).catch((error) => {
        throw error instanceof BlobTooLarge ? new Refusal('too-large', error.message) : error;
      });
      return json({ upload: nameUpload(env.keyring, lease, name, id) }, 201);
    },
  }),
);

const finishing = raw('POST')(`${job}/finish`, {
  ...aboutWork,
  summary: 'Report the result of a job.',
  body: bodyOf(wire.Result),
  answers: { 204: { description: 'Accepted.' } },
  load,
  run: async (call) => {
    const lease = leaseOf(call);
    await finishJob(call.db, call.env.keyring, call.params.agent_id, lease, call.body);
    return noContent;
  },
});

const releasing = raw('POST')(`${job}/release`, {
  ...aboutWork,
  summary: 'Return a job that was not started, so that another agent can take it.',
  answers: { 204: { description: 'Other agents can take the job.' } },
  load,
  run: async (call) => {
    await releaseJob(call.db, leaseOf(call) as RunJob, call.params.agent_id);
    return noContent;
  },
});

const loggingIn = raw('POST')(`${job}/login`, {
  ...aboutWork,
  summary: 'Get the identity token and role with which a job logs in to the secrets service.',
  answers: {
    200: described('Address and user of the login, or the reason why there is none.', wire.LoginAnswer),
    204: { description: 'The workspace has no role at the secrets service.' },
  },
  load,
  run: async (call) => {
    const login = await jobLogin(signing(call), await heldJob(call));
    return login ? json(login) : noContent;
  },
});

const identifying = raw('POST')(`${job}/identities`, {
  ...aboutWork,
  summary: 'Get the workload identity tokens that the variables of a job request.',
  answers: { 200: described('Identity tokens by audience, or the reason why there are none.', wire.IdentitiesAnswer) },
  load,
  run: async (call) => {
    const identities = await jobIdentities(signing(call), await heldJob(call), call.params.agent_id);
    return json(
      'withheld' in identities
        ? identities
        : { tokens: identities.tokens, 'secrets-address': identities.secretsAddress },
    );
  },
});

const keeping = raw('POST')(`${job}/credentials`, {
  ...aboutWork,
  summary: 'Record a token that the secrets service issued to a job, so that it is revoked when the job ends.',
  body: bodyOf(wire.Kept),
  answers: { 201: described('Recorded.', wire.KeptAnswer) },
  load,
  run: async (call) => {
    const id = await keepToken(call.db, call.env.keyring, await heldJob(call), call.params.agent_id, call.body);
    return json({ id }, 201);
  },
});

const forgetting = raw('DELETE')(`${job}/credentials/:credential_id`, {
  ...aboutWork,
  summary: 'Report that a recorded token was revoked.',
  answers: { 204: { description: 'Forgotten.' } },
  load,
  run: async (call) => {
    await forgetToken(call.db, call.params.credential_id, leaseOf(call).id);
    return noContent;
  },
});

/**
 * Makes an endpoint record in the audit trail that an agent was refused because its pool was closed to the workspace in
 * the meantime.
 */
function keepClosed(endpoint: Endpoint): Endpoint {
  const run: Endpoint['run'] = async (call) => {
    try {
      return await endpoint.run(call);
    } catch (error) {
      const { job_id: id = '' } = call.params as { readonly job_id?: string };
      const closed = isRefusal(error) && error.kind === 'transition' ? await findClosed(call.db, id) : undefined;
      if (closed) {
        const { organizationId, type, runId } = closed;
        const after = { path: endpoint.path, reason: 'the agent pool no longer allows the workspace' };
        const change = { organizationId, action: 'agent.refuse', target: { type, id: runId }, after };
        await call.env.trail.refused(actorOf(call), change, id);
      }
      throw error;
    }
  };
  return { ...endpoint, run };
}

/** The requests of an agent about a job that it holds. */
export const jobEndpoints: readonly Endpoint[] = [
  starting,
  beating,
  inputs,
  ...files,
  logging,
  saving,
  ...uploads,
  finishing,
  releasing,
  loggingIn,
  identifying,
  keeping,
  forgetting,
].map(keepClosed);
