import { type Envelope, envelope } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { LiveMount } from '../kernel/mounts/mount';
import type { WriteSet } from '../kernel/storage/types';
import { isEmpty, PreconditionFailed, writesConfig } from '../kernel/storage/write-set';
import { isReading } from '../sdk/call';
import { type Login, listed, type Reply } from '../sdk/reply';
import type { Soon } from '../sdk/soon';
import { loginAfterWait } from '../sdk/token-params';
import type { ChainedLine } from './audit-lines';
import { issueLogin, issueToken } from './issue-token';
import type { Kernel } from './kernel';
import type { Outcome } from './request';
import type { RequestCall } from './request-call';
import { remember } from './reuse';

const notFound: Outcome = { status: 404, bare: '{"errors":[]}\n' };
const noContent: Outcome = { status: 204 };

/**
 * Turns a reply into an outcome and commits everything the call changed, its lease or token included, in one
 * transaction. A secret that could not be registered is revoked in the outside system before the failure is reported.
 */
export function settle(
  kernel: Kernel,
  call: RequestCall,
  reply: Reply,
  set: WriteSet,
  chain: ChainedLine | undefined,
): Soon<Outcome> {
  const plain = outcomeOf(kernel, call, reply, set);
  const writesNothing = isReading(call.verb) && isEmpty(set) && !set.configured;
  const isDone = writesNothing && call.wrapTtlSeconds <= 0 && !(plain instanceof Promise);
  return isDone ? plain : commit(kernel, call, reply, plain, set, chain);
}

async function commit(
  kernel: Kernel,
  call: RequestCall,
  reply: Reply,
  settling: Soon<Outcome>,
  set: WriteSet,
  chain: ChainedLine | undefined,
): Promise<Outcome> {
  const plain = await settling;
  const outcome =
    call.wrapTtlSeconds > 0 && plain.envelope && plain.status < 300 && reply.kind !== 'rewrapped'
      ? wrap(kernel, call, plain.envelope, accessorIn(reply, plain.envelope), set)
      : plain;
  const changes = !isReading(call.verb);
  if (changes || !isEmpty(set)) chain?.join(set);
  try {
    await kernel.committer.commit(set);
  } catch (error) {
    if (reply.kind === 'secret') await kernel.leases.abandonSecret(call.match.mount!, reply);
    // A call has a condition on an entry only if the caller's permissions depend on whether the entry exists.
    if (!(error instanceof PreconditionFailed)) throw error;
    throw listed('denied', 'permission denied');
  }
  const { mount } = call.match;
  if (mount?.backend.outside && writesConfig(set)) kernel.leases.reconfigured(mount.uuid);
  return outcome;
}

function outcomeOf(kernel: Kernel, call: RequestCall, reply: Reply, set: WriteSet): Soon<Outcome> {
  switch (reply.kind) {
    case 'data':
      return enveloped(
        call,
        {
          requestId: call.requestId,
          data: reply.data,
          dataText: reply.text ?? textToRepeat(call, reply.data),
          leaseId: reply.lease?.id,
          renewable: reply.lease?.renewable,
          leaseDurationSeconds: reply.lease?.durationSeconds,
          warnings: call.warnings(true),
        },
        reply.status,
      );
    case 'empty': {
      // Callers who request a certificate or a list in its own format do not expect JSON.
      if (call.match.operation?.media?.includes('application/json') === false) return noContent;
      const warnings = call.warnings(call.ignoresFields);
      return warnings ? enveloped(call, { requestId: call.requestId, warnings }) : noContent;
    }
    case 'missing':
      return notFound;
    case 'raw':
      return {
        status: reply.status,
        bare: reply.body,
        contentType: reply.contentType ?? call.match.operation?.media?.[0],
        headers: reply.headers,
        stream: reply.stream,
        long: reply.long,
      };
    case 'unwrapped':
      return {
        status: 200,
        stored: reply.envelope.replace(/^\{"request_id":"[^"]*"/, `{"request_id":"${call.requestId}"`),
      };
    case 'rewrapped':
      return enveloped(call, { requestId: call.requestId, wrapInfo: wrapInfoOf(reply) });
    case 'auth':
      return enveloped(call, {
        requestId: call.requestId,
        auth: reply.auth,
        warnings: call.warnings(true),
      });
    case 'issue':
      return issued(kernel, call, reply, set);
    case 'login':
      return loggedIn(kernel, call, reply, set);
    case 'secret':
      return leased(kernel, call, reply, set);
  }
}

async function issued(
  kernel: Kernel,
  call: RequestCall,
  { issue }: Extract<Reply, { kind: 'issue' }>,
  set: WriteSet,
): Promise<Outcome> {
  requireProof(call);
  const { auth } = await issueToken(kernel, call.birthplace, call.bearer?.record, issue, set);
  return enveloped(call, { requestId: call.requestId, auth, warnings: call.warnings(true) });
}

async function loggedIn(
  kernel: Kernel,
  call: RequestCall,
  { origin, login }: Extract<Reply, { kind: 'login' }>,
  set: WriteSet,
): Promise<Outcome> {
  const mount = origin && kernel.mounts.find(origin.mountUuid);
  if (origin && !mount) throw new Refusal('denied', 'permission denied');
  const { path, address } = origin ?? call.birthplace;
  const at = { ...call.birthplace, ...(mount && { mount }), path, address };
  const factors = origin ? { provenFor: origin.entityId } : { sentPasscodes: call.mfa };
  const newest = origin && mount ? await renewed(kernel, call, mount, origin.entityId, login) : login;
  const { auth, warnings } = await issueLogin(kernel, at, newest, set, factors);
  return enveloped(call, { requestId: call.requestId, auth, warnings: call.warnings(true, warnings) });
}

// The same values are often read again, so the hash for the audit line is cached by the content of the answer.
const textToRepeat = ({ verb }: RequestCall, data: object | null): string | undefined =>
  data && isReading(verb) ? JSON.stringify(data) : undefined;

/** A login that waited for its second factors, with the values that a new login would get now. */
async function renewed(
  { leases }: Kernel,
  call: RequestCall,
  mount: LiveMount,
  entityId: string,
  login: Login,
): Promise<Login> {
  const now = await leases.renewal.loginNow(mount, {
    ...login,
    entityId,
    certificates: () => call.certificates(),
  });
  return loginAfterWait(login, now);
}

/**
 * A token outlives the session that it is created in, so every operation that creates tokens must ask console users for a
 * proof.
 */
function requireProof({ match, verb }: RequestCall): void {
  if (match.declared?.operations[verb]?.stepUp) return;
  throw new Error(`${verb} ${match.declared?.pattern} creates tokens, and is not declared \`stepUp\``);
}

async function leased(
  kernel: Kernel,
  call: RequestCall,
  reply: Extract<Reply, { kind: 'secret' }>,
  set: WriteSet,
): Promise<Outcome> {
  const { match } = call;
  const mount = match.mount!;
  const owner = call.bearer?.record;
  if (owner?.usesLeft === -1) {
    await kernel.leases.abandonSecret(mount, reply);
    throw new Refusal(
      'invalid',
      'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.',
    );
  }
  const at = { namespace: match.namespace, mount, path: match.path };
  const lease = await kernel.leases.register(at, owner, reply, set).catch(async (error) => {
    await kernel.leases.abandonSecret(mount, reply);
    throw error;
  });
  if (reply.reuseKey !== undefined) remember(kernel, call, reply.reuseKey, { ...lease, data: reply.data }, set);
  return enveloped(call, {
    requestId: call.requestId,
    leaseId: lease.id,
    renewable: reply.renewable ?? true,
    leaseDurationSeconds: lease.ttlSeconds,
    data: reply.data,
    warnings: call.warnings(true, lease.warnings),
  });
}

function enveloped(call: RequestCall, body: Envelope, forced?: number): Outcome {
  const responseFormat = call.match.operation?.responseFormat ?? call.match.declared?.responseFormat;
  const status = forced ?? call.match.operation?.status ?? 200;
  return { status, envelope: body, injected: responseFormat === 'injected' };
}

/** The accessor of the wrapped token, so that the wrapping can be audited later. */
function accessorIn(reply: Reply, { auth }: Envelope): string | undefined {
  return auth?.accessor ?? (reply.kind === 'data' ? reply.accessor : undefined);
}

function wrap(
  kernel: Kernel,
  call: RequestCall,
  body: Envelope,
  wrappedAccessor: string | undefined,
  set: WriteSet,
): Outcome {
  const { match, wrapTtlSeconds } = call;
  const wrapped = kernel.wrapping.wrap(
    {
      envelope: envelope(body),
      namespace: match.namespace,
      path: match.path,
      ttlSeconds: wrapTtlSeconds,
      wrappedAccessor,
    },
    set,
  );
  return {
    status: 200,
    envelope: {
      requestId: call.requestId,
      wrapInfo: wrapInfoOf({
        ...wrapped,
        ttlSeconds: wrapTtlSeconds,
        creationPath: match.path,
        wrappedAccessor,
      }),
    },
  };
}

function wrapInfoOf(wrapped: {
  readonly token: string;
  readonly accessor: string;
  readonly createdAtMs: number;
  readonly creationPath: string;
  readonly ttlSeconds: number;
  readonly wrappedAccessor?: string;
}): NonNullable<Envelope['wrapInfo']> {
  const { token, accessor, ttlSeconds, creationPath, wrappedAccessor } = wrapped;
  const creationTime = new Date(wrapped.createdAtMs).toISOString();
  return { token, accessor, ttlSeconds, creationTime, creationPath, wrappedAccessor };
}
