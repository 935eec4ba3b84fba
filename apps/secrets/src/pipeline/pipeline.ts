import { PrimaryNeeded, Refusal } from '@keystead/refusal';
import type { DemandedMethod } from '../kernel/policy/types';
import { RateLimited } from '../kernel/quotas/quotas';
import { checkMatch, type RouteMatch } from '../kernel/routing/sent-path';
import type { WriteSet } from '../kernel/storage/types';
import { newWriteSet, unsettled } from '../kernel/storage/write-set';
import { isReading } from '../sdk/call';
import { parseDuration } from '../sdk/duration';
import { listedText } from '../sdk/reply';
import type { Storage } from '../sdk/storage';
import { ChainedLine, entryOf, failureLines, requestLine, responseLine } from './audit-lines';
import { authenticate, identify } from './authenticate';
import { authorize, type Existence, requireOperation, requireStepUp, StepUpRequired } from './authorize';
import { CallStorage, type Joining } from './call-storage';
import { mountHelp, pathHelp } from './help';
import { InFlight } from './in-flight';
import type { Kernel } from './kernel';
import { shapeListing } from './listing';
import type { Bearer } from './request';
import {
  boundsOf,
  emptyContext,
  type Located,
  type Outcome,
  type Request,
  type RequestContext,
  requireWithin,
} from './request';
import { RequestCall } from './request-call';
import { type Answered, settle } from './settle';
import { refusedStatus } from './status';
import { handleWhileSealed } from './while-sealed';

/** Stores the context that a step has extended, and returns it. */
type Advance = <K extends RequestContext>(context: K) => K;

/**
 * The life of a request: find the route and the caller, read the body, check the policies, write the audit line, run
 * the handler, commit, write the audit line of the answer. Refusals and faults are thrown; both also leave audit lines,
 * with the data known by then and the status of the answer.
 */
export async function handle(kernel: Kernel, request: Request): Promise<Outcome> {
  requireReading(kernel, request);
  // A probe does not identify its sender and reads nothing stored. As in the reference, it leaves no audit lines.
  if (kernel.barrier.sealed || request.path.is('sys/health')) {
    return within(kernel, undefined, () => handleWhileSealed(kernel, request));
  }
  let context = emptyContext;
  const advance: Advance = (next) => {
    context = next;
    return next;
  };
  try {
    const outcome = await within(kernel, new InFlight(request, () => context), async (isOver) => {
      try {
        return await carryOut(kernel, request, advance, isOver);
      } finally {
        endOneUseToken(kernel, context.bearer);
      }
    });
    const answer = unlessKnown(outcome, request);
    const auditLine = responseLine(kernel, request, context, answer);
    if (auditLine) await auditLine;
    return answer;
  } catch (error) {
    const failure = inCallersWords(error, context);
    if (!(failure instanceof RateLimited) || failure.audited) {
      await failureLines(
        kernel,
        request,
        context,
        failure,
        failure instanceof Refusal ? refusedStatus(kernel, failure) : 500,
      );
    }
    throw failure;
  }
}

/** The steps, each based on the results of the earlier ones. */
async function carryOut(kernel: Kernel, request: Request, advance: Advance, isOver: () => boolean): Promise<Outcome> {
  // Do not await unconditionally: usually there is nothing to wait for, and even an empty await costs a turn of the
  // event loop.
  const reading = kernel.namespaces.refresh();
  if (reading) await reading;
  const mounting = kernel.mounts.refresh();
  if (mounting) await mounting;
  const auditing = kernel.storedAudit.refresh();
  if (auditing) await auditing;
  const match = knownMatch(kernel, request) ?? (await newestMatch(kernel, request));
  const located = advance({ ...emptyContext, match });
  if (request.headOnly && !match.operation?.answersHead) throw new Refusal('unsupported-operation', '');
  checkMatch(match);
  request.route = routeOf(match);
  const wrapped = request.wrapTtl === undefined ? located : advance(withWrapTtl(located, request.wrapTtl));
  const token = await identify(kernel, request, match);
  const identified = advance({ ...wrapped, token });
  const usage = {
    namespaceId: match.namespace.uuid,
    mountUuid: match.mount?.uuid,
    path: match.path,
    folding: match.folding,
    address: request.address,
  };
  kernel.quotas.check(usage, request);
  const bounds = boundsOf(match, token !== undefined);
  if (request.readBody) {
    const reading = request.readBody(bounds);
    request.sent = reading instanceof Promise ? await reading : reading;
    // A body may take long to arrive, and the namespace may be locked in the meantime.
    checkMatch({ ...match, namespace: kernel.namespaces.find(match.namespace.uuid) ?? match.namespace });
  } else requireWithin(request.sent, bounds);
  const bearer = token && (await authenticate(kernel, token));
  const caller = bearer ? advance({ ...identified, bearer }) : identified;
  const isJudged = bearer !== undefined && match.auth === 'token';
  const exists = () => existence(kernel, request, caller);
  const grant = isJudged ? await authorize(request, match, bearer, caller.wrapTtlSeconds, exists) : undefined;
  const allowed = advance({ ...caller, grant });
  if (request.help && match.mount && match.below === '') return mountHelp(kernel, match.mount);
  if (request.help && match.declared) return pathHelp(kernel, match.mount!, match.declared);
  requireOperation(match, bearer);
  kernel.inputs.requireKnown(match.operation!, request.sent.fields, match.params);
  requireStepUp(request, match.operation);
  const factors = grant?.decision?.rule?.mfaMethods;
  if (factors && factors.length > 0) await proveFactors(kernel, request, bearer!, factors);
  const entry =
    kernel.audit.active || kernel.chained || kernel.reads.recording ? entryOf(kernel, request, allowed) : undefined;
  const recorded = entry ? advance({ ...allowed, entry }) : allowed;
  const auditLine = entry && requestLine(kernel, entry);
  if (auditLine) await auditLine;
  // After the answer "timed out", no work may start.
  if (isOver()) throw timedOut();
  const chain = entry && kernel.chained ? new ChainedLine(kernel.audit, entry) : undefined;
  const set = newWriteSet();
  try {
    const { call, reply } = await run(kernel, request, recorded, set, chain);
    const shaped = shapeListing(kernel, recorded, reply);
    const settling = { call, reply: shaped instanceof Promise ? await shaped : shaped };
    const outcome = await settle(kernel, settling, set, chain);
    if (entry && readsSecret(request, match, outcome)) kernel.reads.note(entry);
    if (set.opened.length > set.settled.length) void kernel.leases.abandonIntents(unsettled(set));
    return outcome;
  } catch (error) {
    void kernel.leases.abandonIntents(set.opened);
    throw error;
  }
}

/** Whether an answer shows a value or credential of a secrets engine. */
const readsSecret = ({ verb }: Request, { mount, operation }: RouteMatch, { status }: Outcome): boolean =>
  verb === 'read' && status === 200 && mount?.backend.kind === 'secret' && operation?.auditClear !== 'all';

/**
 * Checks that a node which reads from a standby can answer: only reads, and only if the standby does not lag too far
 * behind. Paths that show the state of the node itself are always answered. Throws `PrimaryNeeded` and `unavailable`.
 */
function requireReading({ standby, whileSealed }: Kernel, { verb, path, wrapTtl }: Request): void {
  if (!standby) return;
  if (!isReading(verb) || wrapTtl !== undefined) throw new PrimaryNeeded();
  const { trouble } = standby.lag;
  if (trouble !== undefined && !path.locateSystem(whileSealed, verb)) throw new Refusal('unavailable', trouble);
}

/** The target of a request; undefined if it does not exist but another node may just have created it. */
function knownMatch(kernel: Kernel, { path, verb, namespace }: Request): RouteMatch | undefined {
  try {
    const match = path.locate(kernel.namespaces, kernel.mounts, verb, namespace);
    return match.mount || !kernel.changes.mustTell ? match : undefined;
  } catch (error) {
    if (kernel.changes.mustTell && error instanceof Refusal && error.kind === 'missing') return undefined;
    throw error;
  }
}

async function newestMatch(kernel: Kernel, { path, verb, namespace }: Request): Promise<RouteMatch> {
  await kernel.changes.catchUp();
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  return path.locate(kernel.namespaces, kernel.mounts, verb, namespace);
}

/** Whether the target of the path already exists. */
async function existence(
  kernel: Kernel,
  request: Request,
  context: Located,
  storage: Storage = storageOf(kernel, context, newWriteSet()),
): Promise<Existence> {
  const { declared } = context.match;
  const call = new RequestCall(kernel, request, context, storage);
  if (declared?.exists) return { isThere: await declared.exists(call) };
  const stored = await declared?.stored?.(call);
  return { isThere: stored !== undefined, stored };
}

/**
 * Runs the handler. A handler that merges fields into the stored record waits for its turn and uses the record at that
 * time.
 */
async function run(
  kernel: Kernel,
  request: Request,
  context: Located,
  set: WriteSet,
  chain: ChainedLine | undefined,
): Promise<Answered> {
  const { fields, exact } = request.sent;
  const operation = context.match.operation!;
  const { stored: find } = context.match.declared!;
  const guard = context.grant?.guard;
  const joining = chain || guard ? joiningOf(kernel, request, context, chain) : undefined;
  const storage = storageOf(kernel, context, set, joining);
  if (operation.update === 'merge' && find && !operation.once) {
    return storage.transaction(context.match.below, async (tx) => {
      const stored = await find(new RequestCall(kernel, request, context, tx));
      const input = kernel.inputs.parse(operation, fields, exact, stored);
      const call = new RequestCall(kernel, request, context, tx, input, stored);
      return { call, reply: await operation.run(call) };
    });
  }
  const grantedRecord = context.grant?.stored;
  const stored =
    grantedRecord !== undefined || !operation.update
      ? grantedRecord
      : await find?.(new RequestCall(kernel, request, context, storage));
  if (!isReading(request.verb)) storage.watch();
  const input = kernel.inputs.parse(operation, fields, exact, stored);
  const call = new RequestCall(kernel, request, context, storage, input, stored);
  if (operation.dropsKeys && chain) await recordFirst(kernel, chain);
  return { call, reply: await operation.run(call) };
}

/** The mount's entries for this caller: in the token's own folder if the backend stores per token. */
function storageOf(kernel: Kernel, { match, bearer, grant }: Located, set: WriteSet, joining?: Joining): CallStorage {
  const mount = match.mount!;
  const own = mount.backend.storage === 'per-token' ? bearer?.record : undefined;
  if (own) set.authorities.push(own.hash);
  return new CallStorage(kernel, set, mount.uuid, own ? `${own.key}/` : '', grant?.guard, joining);
}

/**
 * Additions to each decision of a call: a check of the caller's permissions at that time, and the request's line for
 * the chain.
 */
function joiningOf(kernel: Kernel, request: Request, context: Located, chain: ChainedLine | undefined): Joining {
  const guard = context.grant?.guard;
  return {
    async judge(tx) {
      if (!guard) return;
      const { isThere } = await existence(kernel, request, context, tx);
      if (isThere !== (guard === 'present')) throw new Refusal('denied', 'permission denied');
    },
    add: (set) => chain?.join(set),
    done: () => chain?.done(),
  };
}

/** The table's digest needs the keys that will be removed. */
async function recordFirst(kernel: Kernel, chain: ChainedLine): Promise<void> {
  const set = newWriteSet();
  chain.join(set);
  await kernel.committer.commit(set);
  chain.done();
}

/** Requests that take longer are refused. Work that they have started continues. */
function within<T>(
  { silence, timeoutSeconds }: Kernel,
  about: InFlight | undefined,
  work: (isOver: () => boolean) => Promise<T>,
): Promise<T> {
  if (silence.lasts) return Promise.reject(unavailable());
  return new Promise((resolve, reject) => {
    let isOver = false;
    const cancelSilence = silence.whenItLasts(
      (why) => {
        isOver = true;
        reject(why === 'late' ? timedOut() : unavailable());
      },
      timeoutSeconds * 1000,
      about,
    );
    work(() => isOver).then(
      (value) => {
        cancelSilence();
        resolve(value);
      },
      (error) => {
        cancelSilence();
        reject(error);
      },
    );
  });
}

const unavailable = (): Refusal => new Refusal('unavailable', 'storage is unavailable');

const timedOut = (): Refusal => new Refusal('timeout', 'request timed out');

/** Answers 304 to callers who already have this version. */
function unlessKnown(outcome: Outcome, { ifNoneMatch }: Request): Outcome {
  if (ifNoneMatch === undefined || outcome.headers?.ETag !== ifNoneMatch) return outcome;
  const { headers, contentType } = outcome;
  return { status: 304, headers, contentType };
}

/** The second factors that the matching rule requires with each request. */
function proveFactors(
  { mfa, namespaces }: Kernel,
  request: Request,
  bearer: Bearer,
  factors: readonly DemandedMethod[],
): Promise<void> {
  const required = factors.map(({ namespacePath, method }) => ({
    namespaceId: namespaces.at(namespaces.root, namespacePath)?.uuid ?? '',
    method,
  }));
  return mfa.stepUp.prove(bearer.record.entityId ?? '', required, request.mfa);
}

function withWrapTtl(context: Located, text: string): Located {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 0) {
    throw new Refusal('malformed', `error parsing X-Service-Wrap-TTL header: time: invalid duration "${text}"`);
  }
  return { ...context, wrapTtlSeconds: seconds };
}

// After the caller is known, refusals have the form of a list, except on paths that require no token.
function inCallersWords(error: unknown, { bearer }: RequestContext): unknown {
  if (!(error instanceof Refusal) || error.kind !== 'denied' || !bearer || error instanceof StepUpRequired)
    return error;
  if (error.message.startsWith('1 error occurred')) return error;
  error.message = listedText(error.message);
  return error;
}

/** A token that has no uses left is revoked when its request has ended. */
function endOneUseToken(kernel: Kernel, bearer: Bearer | undefined): void {
  if (bearer?.record.usesLeft !== -1) return;
  kernel.leases
    .endToken(bearer.record)
    .catch((error) => kernel.log.warn({ err: error }, 'a used-up token could not be revoked'));
}

function routeOf({ mount, declared }: RouteMatch): string | undefined {
  return mount && declared && `${mount.type}/${declared.pattern}`;
}
