import { type Envelope, envelope } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { WriteSet } from '../kernel/storage/types';
import { isEmpty, PreconditionFailed, writesConfig } from '../kernel/storage/write-set';
import { isReading } from '../sdk/call';
import { listed, type Reply } from '../sdk/reply';
import type { Running } from './call';
import { issueLogin, issueToken } from './issue-token';
import type { Kernel } from './kernel';
import type { Outcome } from './outcome';
import { remember } from './reuse';
import type { Trail } from './trail';

const notFound: Outcome = { status: 404, bare: '{"errors":[]}\n' };
const noContent: Outcome = { status: 204 };

/**
 * Turns a reply into an outcome and commits everything the call changed, its lease or token included, at once.
 * A secret that could not be registered is ended in the outside system before the failure is reported.
 */
export async function settle(
  kernel: Kernel,
  running: Running,
  reply: Reply,
  set: WriteSet,
  trail: Trail,
): Promise<Outcome> {
  const plain = await outcomeOf(kernel, running, reply, set);
  const outcome =
    running.wrapTtlSeconds > 0 && plain.envelope && plain.status < 300 && reply.kind !== 'rewrapped'
      ? wrap(kernel, running, plain.envelope, accessorIn(reply, plain.envelope), set)
      : plain;
  const changes = !isReading(running.verb);
  if (kernel.chained && !trail.chained && (changes || !isEmpty(set))) set.audit.push(trail.chainLine());
  try {
    await kernel.committer.commit(set);
  } catch (error) {
    if (reply.kind === 'secret') await kernel.leases.abandon(running.place.mount!, reply);
    // What a call by itself requires of an entry is what its rights depend on.
    if (!(error instanceof PreconditionFailed)) throw error;
    throw listed('denied', 'permission denied');
  }
  const { mount } = running.place;
  if (mount?.backend.outside && writesConfig(set)) kernel.leases.reconfigured(mount.uuid);
  return outcome;
}

async function outcomeOf(kernel: Kernel, running: Running, reply: Reply, set: WriteSet): Promise<Outcome> {
  switch (reply.kind) {
    case 'data':
      return enveloped(
        running,
        {
          requestId: running.requestId,
          data: reply.data,
          dataText: reply.text,
          leaseId: reply.lease?.id,
          renewable: reply.lease?.renewable,
          leaseDurationSeconds: reply.lease?.durationSeconds,
          warnings: running.warnings(true),
        },
        reply.gone ? 404 : undefined,
      );
    case 'empty': {
      const warnings = running.warnings(false);
      return warnings ? enveloped(running, { requestId: running.requestId, warnings }) : noContent;
    }
    case 'missing':
      return notFound;
    case 'raw':
      return {
        status: reply.status,
        bare: reply.body,
        contentType: reply.contentType,
        headers: reply.headers,
        stream: reply.stream,
      };
    case 'unwrapped':
      return {
        status: 200,
        stored: reply.envelope.replace(/^\{"request_id":"[^"]*"/, `{"request_id":"${running.requestId}"`),
      };
    case 'rewrapped':
      return enveloped(running, { requestId: running.requestId, wrapInfo: wrapInfoOf(reply) });
    case 'auth':
      return enveloped(running, {
        requestId: running.requestId,
        auth: reply.auth,
        warnings: running.warnings(true),
      });
    case 'issue': {
      const issued = await issueToken(kernel, running.birthplace, running.bearer?.record, reply.issue, set);
      return enveloped(running, { requestId: running.requestId, auth: issued.auth, warnings: running.warnings(true) });
    }
    case 'login': {
      const { origin } = reply;
      const mount = origin && kernel.mounts.find(origin.mountUuid);
      if (origin && !mount) throw new Refusal('denied', 'permission denied');
      const at = origin && mount ? { ...running.birthplace, mount, path: origin.path } : running.birthplace;
      const factors = origin ? { provenFor: origin.entityId } : { sentAlong: running.mfa };
      const issued = await issueLogin(kernel, at, reply.login, set, factors);
      for (const warning of issued.warnings) running.warn(warning);
      return enveloped(running, { requestId: running.requestId, auth: issued.auth, warnings: running.warnings(true) });
    }
    case 'secret':
      return leased(kernel, running, reply, set);
  }
}

async function leased(
  kernel: Kernel,
  running: Running,
  reply: Extract<Reply, { kind: 'secret' }>,
  set: WriteSet,
): Promise<Outcome> {
  const { place } = running;
  const mount = place.mount!;
  const owner = running.bearer?.record;
  if (owner?.usesLeft === -1) {
    await kernel.leases.abandon(mount, reply);
    throw new Refusal(
      'invalid',
      'Secret cannot be returned; token had one use left, so leased credentials were immediately revoked.',
    );
  }
  const at = { namespace: place.namespace, mount, path: place.path };
  const lease = await kernel.leases.register(at, owner, reply, set).catch(async (error) => {
    await kernel.leases.abandon(mount, reply);
    throw error;
  });
  for (const warning of lease.warnings) running.warn(warning);
  if (reply.reuseKey !== undefined) remember(kernel, running, reply.reuseKey, { ...lease, data: reply.data }, set);
  return enveloped(running, {
    requestId: running.requestId,
    leaseId: lease.id,
    renewable: reply.renewable ?? true,
    leaseDurationSeconds: lease.ttlSeconds,
    data: reply.data,
    warnings: running.warnings(true),
  });
}

function enveloped(running: Running, body: Envelope, forced?: number): Outcome {
  const dress = running.place.operation?.dress ?? running.place.declared?.dress;
  const status = forced ?? running.place.operation?.status ?? 200;
  return { status, envelope: body, injected: dress === 'injected' };
}

/** What a holder of the wrapping token's answer can later be held to. */
function accessorIn(reply: Reply, { auth }: Envelope): string | undefined {
  return auth?.accessor ?? (reply.kind === 'data' ? reply.accessor : undefined);
}

function wrap(
  kernel: Kernel,
  running: Running,
  body: Envelope,
  wrappedAccessor: string | undefined,
  set: WriteSet,
): Outcome {
  const { place, wrapTtlSeconds } = running;
  const wrapped = kernel.wrapping.wrap(
    {
      envelope: envelope(body),
      namespace: place.namespace,
      path: place.path,
      ttlSeconds: wrapTtlSeconds,
      wrappedAccessor,
    },
    set,
  );
  return {
    status: 200,
    envelope: {
      requestId: running.requestId,
      wrapInfo: wrapInfoOf({
        ...wrapped,
        ttlSeconds: wrapTtlSeconds,
        creationPath: place.path,
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
