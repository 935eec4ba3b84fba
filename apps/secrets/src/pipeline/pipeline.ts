import { PrimaryNeeded, Refusal } from '@keystead/refusal';
import type { DemandedMethod } from '../kernel/policy/types';
import { type QuotaQuestion, RateLimited } from '../kernel/quotas/quotas';
import { checkMatch, type RouteMatch } from '../kernel/routing/sent-path';
import type { WriteSet } from '../kernel/storage/types';
import { add, newWriteSet, unsettled } from '../kernel/storage/write-set';
import { isReading } from '../sdk/call';
import { parseDuration } from '../sdk/duration';
import type { Path } from '../sdk/path';
import { listedText, type Reply } from '../sdk/reply';
import { type Soon, soon } from '../sdk/soon';
import type { Storage } from '../sdk/storage';
import { ChainedLine, entryOf, failureLines, requestLine, responseLine } from './audit-lines';
import {
  authenticate,
  authorize,
  type Existence,
  identify,
  requireOperation,
  requireStepUp,
  StepUpRequired,
} from './authorize';
import { CallStorage, type Joining } from './call-storage';
import { mountHelp, pathHelp } from './help';
import { InFlight, timedOut, unavailable } from './in-flight';
import type { Kernel } from './kernel';
import { shapeListing } from './listing';
import {
  type Bearer,
  boundsOf,
  type Located,
  type Outcome,
  type Request,
  type RequestContext,
  refusedStatus,
  requireWithin,
} from './request';
import { RequestCall } from './request-call';
import { settle } from './settle';
import { handleWhileSealed } from './while-sealed';

/**
 * The life of a request: find the route and the caller, read the body, check the policies, write the audit line, run
 * the handler, commit, write the audit line of the answer. Refusals and faults are thrown; both also leave audit lines,
 * with the data known by then and the status of the answer.
 */
export async function handle(kernel: Kernel, request: Request): Promise<Outcome> {
  requireReading(kernel, request);
  const { silence, timeoutSeconds } = kernel;
  // A health probe does not identify its sender and reads nothing from storage. As in the reference, it leaves no audit
  // lines.
  const isProbe = kernel.barrier.sealed || request.path.is('sys/health');
  const flight = new InFlight(request);
  const wait = silence.begin(flight, timeoutSeconds * 1000);
  try {
    if (silence.lasts) throw unavailable();
    if (isProbe) return await flight.within(handleWhileSealed(kernel, request));
    const outcome = await flight.within(carryOut(kernel, request, flight));
    const answer = unlessKnown(outcome, request);
    const auditLine = responseLine(kernel, request, flight.context, answer);
    if (auditLine) await auditLine;
    return answer;
  } catch (error) {
    if (isProbe) throw error;
    const failure = inCallersWords(error, flight.context);
    if (!(failure instanceof RateLimited) || failure.audited) {
      const status = failure instanceof Refusal ? refusedStatus(kernel, failure) : 500;
      await failureLines(kernel, request, flight.context, failure, status);
    }
    throw failure;
  } finally {
    silence.end(wait);
  }
}

/**
 * Carries out the steps, each based on the results of the earlier ones. Only promises are awaited, because usually
 * there is nothing to wait for, and even an empty await costs memory and a turn of the event loop.
 */
async function carryOut(kernel: Kernel, request: Request, flight: InFlight): Promise<Outcome> {
  let set: WriteSet | undefined;
  try {
    const reading = kernel.namespaces.refresh();
    if (reading) await reading;
    const mounting = kernel.mounts.refresh();
    if (mounting) await mounting;
    const auditing = kernel.storedAudit.refresh();
    if (auditing) await auditing;
    let match = knownMatch(kernel, request) ?? (await newestMatch(kernel, request));
    let context = flight.locate(match);
    if (request.headOnly && !match.operation?.answersHead) throw new Refusal('unsupported-operation', '');
    checkMatch(match);
    request.route = routeOf(match);
    if (request.wrapTtl !== undefined) context.wrapTtlSeconds = wrapSeconds(request.wrapTtl);
    const identifying = identify(kernel, request, match);
    let token = identifying instanceof Promise ? await identifying : identifying;
    context.token = token;
    if (kernel.quotas.hasRates) kernel.quotas.check(usageOf(request, match), request);
    const bounds = boundsOf(match, token !== undefined);
    if (request.readBody) {
      const reading = request.readBody(bounds);
      const isWaiting = reading instanceof Promise;
      request.sent = isWaiting ? await reading : reading;
      // A body may take long to arrive, and in the meantime the target and the token may change.
      if (isWaiting) {
        match = await sameMatch(kernel, request, match);
        checkMatch(match);
        context = flight.locate(match, context);
        token = await identify(kernel, request, match);
        context.token = token;
      }
    } else requireWithin(request.sent, bounds);
    // After the answer "timed out", no use of a token is counted, and no work may start.
    if (flight.isOver) throw timedOut();
    const authenticating = token && authenticate(kernel, token);
    const bearer = authenticating instanceof Promise ? await authenticating : authenticating;
    context.bearer = bearer;
    const isJudged = bearer !== undefined && match.auth === 'token';
    const granting = isJudged ? authorize(kernel, request, context, bearer, existence) : undefined;
    const grant = granting instanceof Promise ? await granting : granting;
    context.grant = grant;
    const help = request.help ? helpOf(kernel, match) : undefined;
    if (!help) {
      requireOperation(match, bearer);
      kernel.inputs.requireKnown(match.operation!, request.sent.fields, match.params);
      requireStepUp(request, match.operation);
      const factors = grant?.decision?.rule?.mfaMethods;
      if (factors && factors.length > 0) await proveFactors(kernel, request, bearer!, factors);
    }
    // The timeout has already written the audit lines.
    if (flight.isOver) throw timedOut();
    const isRecorded = kernel.audit.active || kernel.chained || kernel.reads.recording;
    const entry = isRecorded ? entryOf(kernel, request, context) : undefined;
    context.entry = entry;
    const auditLine = entry && requestLine(kernel, entry);
    if (auditLine) await auditLine;
    if (flight.isOver) throw timedOut();
    if (help) return help;
    const chain = entry && kernel.chained ? new ChainedLine(kernel.audit, entry) : undefined;
    set = newWriteSet();
    const running = run(kernel, request, context, set, chain);
    const { call, reply } = running instanceof Promise ? await running : running;
    const shaping = shapeListing(kernel, context, reply instanceof Promise ? await reply : reply);
    const shaped = shaping instanceof Promise ? await shaping : shaping;
    const settling = settle(kernel, call, shaped, set, chain);
    const outcome = settling instanceof Promise ? await settling : settling;
    if (entry && readsSecret(request, match, outcome)) kernel.reads.note(entry);
    if (set.opened.length > set.settled.length) void kernel.leases.abandonIntents(unsettled(set));
    return outcome;
  } catch (error) {
    if (set) void kernel.leases.abandonIntents(set.opened);
    throw error;
  } finally {
    endOneUseToken(kernel, flight.context.bearer);
  }
}

/** The answer to `?help=1`; undefined if nothing is described at this path. */
function helpOf(kernel: Kernel, { mount, below, declared }: RouteMatch): Outcome | undefined {
  if (mount && below === '') return mountHelp(kernel, mount);
  return declared && pathHelp(kernel, mount!, declared);
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

async function newestMatch(kernel: Kernel, request: Request): Promise<RouteMatch> {
  await kernel.changes.catchUp();
  return currentMatch(kernel, request);
}

async function currentMatch({ namespaces, mounts }: Kernel, { path, verb, namespace }: Request): Promise<RouteMatch> {
  await namespaces.refresh();
  await mounts.refresh();
  return path.locate(namespaces, mounts, verb, namespace);
}

/**
 * The target after the body has arrived. Throws `denied` if the mount was disabled, moved or upgraded in the meantime,
 * because the body was read for the operation before.
 */
async function sameMatch(kernel: Kernel, request: Request, { mount, operation }: RouteMatch): Promise<RouteMatch> {
  const match = await currentMatch(kernel, request);
  if (match.mount?.uuid !== mount?.uuid || match.operation !== operation) {
    throw new Refusal('denied', 'permission denied');
  }
  return match;
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

/** A call, and the reply of its handler. */
interface Running {
  readonly call: RequestCall;
  readonly reply: Soon<Reply>;
}

/**
 * Runs the handler. A handler that merges fields into the stored record waits for its turn and uses the record at that
 * time.
 */
function run(
  kernel: Kernel,
  request: Request,
  context: Located,
  set: WriteSet,
  chain: ChainedLine | undefined,
): Soon<Running> {
  const { update, once } = context.match.operation!;
  const guard = context.grant?.guard;
  const joining = chain || guard ? joiningOf(kernel, request, context, chain) : undefined;
  const storage = storageOf(kernel, context, set, joining);
  const record = context.grant?.stored;
  const find = update && context.match.declared!.stored;
  if (find && update === 'merge' && !once) return merge(kernel, request, context, storage, find);
  if (!find || record !== undefined) return begin(kernel, request, context, storage, record, chain);
  return beginWithRecord(kernel, request, context, storage, find, chain);
}

// These are separate functions. A function that contains a closure allocates memory for it even if that line is not
// reached.
function merge(
  kernel: Kernel,
  request: Request,
  context: Located,
  storage: CallStorage,
  find: NonNullable<Path['stored']>,
): Promise<Running> {
  return storage.transaction(context.match.below, async (tx) => {
    const { fields, exact } = request.sent;
    const operation = context.match.operation!;
    const stored = await find(new RequestCall(kernel, request, context, tx));
    const input = kernel.inputs.parse(operation, fields, exact, stored);
    const call = new RequestCall(kernel, request, context, tx, input, stored);
    return { call, reply: await operation.run(call) };
  });
}

function beginWithRecord(
  kernel: Kernel,
  request: Request,
  context: Located,
  storage: CallStorage,
  find: NonNullable<Path['stored']>,
  chain: ChainedLine | undefined,
): Soon<Running> {
  return soon(find(new RequestCall(kernel, request, context, storage)), (stored) =>
    begin(kernel, request, context, storage, stored, chain),
  );
}

function begin(
  kernel: Kernel,
  request: Request,
  context: Located,
  storage: CallStorage,
  stored: unknown,
  chain: ChainedLine | undefined,
): Soon<Running> {
  const { fields, exact } = request.sent;
  const operation = context.match.operation!;
  if (!isReading(request.verb)) storage.watch();
  const input = kernel.inputs.parse(operation, fields, exact, stored);
  const call = new RequestCall(kernel, request, context, storage, input, stored);
  const recording = operation.dropsKeys && chain ? recordFirst(kernel, chain) : undefined;
  return recording ? afterwards(recording, call) : { call, reply: operation.run(call) };
}

async function afterwards(recording: Promise<void>, call: RequestCall): Promise<Running> {
  await recording;
  return { call, reply: call.match.operation!.run(call) };
}

/** The mount's entries for this caller: in the token's own folder if the backend stores per token. */
function storageOf(kernel: Kernel, { match, bearer, grant }: Located, set: WriteSet, joining?: Joining): CallStorage {
  const mount = match.mount!;
  const own = mount.backend.storage === 'per-token' ? bearer?.record : undefined;
  if (own) add(set, 'authorities', own.hash);
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

/**
 * Writes the row of the chained table before the handler runs, because its digest needs the keys that the handler
 * removes.
 */
async function recordFirst(kernel: Kernel, chain: ChainedLine): Promise<void> {
  const set = newWriteSet();
  chain.join(set);
  await kernel.committer.commit(set);
  chain.done();
}

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

function wrapSeconds(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 0) {
    throw new Refusal('malformed', `error parsing X-Service-Wrap-TTL header: time: invalid duration "${text}"`);
  }
  return seconds;
}

const usageOf = ({ address }: Request, { namespace, mount, path, folding }: RouteMatch): QuotaQuestion => ({
  namespaceId: namespace.uuid,
  mountUuid: mount?.uuid,
  path,
  folding,
  address,
});

// The error in the form for this caller. If the caller is known, refusals have the form of a list, except on paths that
// require no token.
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
