import { Refusal } from '@keystead/refusal';
import type { DemandedMethod } from '../kernel/policy/types';
import { RateLimited } from '../kernel/quotas/quotas';
import { checkPlace, type Place } from '../kernel/routing/place';
import { newWriteSet, unsettled } from '../kernel/storage/write-set';
import { type Call, isReading } from '../sdk/call';
import { parseDuration } from '../sdk/duration';
import { listedText, type Reply } from '../sdk/reply';
import { authenticate, type Bearer, identify } from './authenticate';
import { authorize, requireOperation } from './authorize';
import { boundsOf, requireWithin } from './bounds';
import { Running } from './call';
import type { Joining } from './call-storage';
import { mountHelp, pathHelp } from './help';
import type { Kernel } from './kernel';
import { shapeListing } from './listing';
import type { Outcome } from './outcome';
import type { Request } from './request';
import { settle } from './settle';
import { statusOf } from './status';
import { Trail } from './trail';
import { handleWhileSealed } from './while-sealed';

/**
 * The life of a request: find the place, learn who calls, read what they may send, ask the policies, write the audit
 * line, run the handler, commit, write the audit line of the answer. Refusals and faults are thrown; both leave their
 * audit lines too, with the status they are answered with.
 */
export async function handle(kernel: Kernel, request: Request): Promise<Outcome> {
  if (kernel.barrier.sealed) return within(kernel, undefined, () => handleWhileSealed(kernel, request));
  const trail = new Trail(kernel.audit, kernel.inputs, request, kernel.chained);
  try {
    const outcome = unlessKnown(await within(kernel, trail, () => live(kernel, request, trail)), request);
    const written = trail.responseLine(outcome);
    if (written) await written;
    return outcome;
  } catch (error) {
    const known = inCallersWords(error, trail);
    if (!(known instanceof RateLimited) || known.audited) {
      await trail.failed(known, known instanceof Refusal ? statusOf[known.kind] : 500);
    }
    throw known;
  }
}

async function live(kernel: Kernel, request: Request, trail: Trail): Promise<Outcome> {
  try {
    return await carryOut(kernel, request, trail);
  } finally {
    spent(kernel, trail.bearer);
  }
}

async function carryOut(kernel: Kernel, request: Request, trail: Trail): Promise<Outcome> {
  // Nothing to wait for is the rule, and even waiting for nothing costs a turn of the loop.
  const reading = kernel.namespaces.refresh();
  if (reading) await reading;
  const mounting = kernel.mounts.refresh();
  if (mounting) await mounting;
  const place = knownPlace(kernel, request) ?? (await newestPlace(kernel, request));
  trail.place = place;
  checkPlace(place);
  request.route = routeOf(place);
  const wrapTtlSeconds = request.wrapTtl === undefined ? 0 : parseWrapTtl(request.wrapTtl);
  trail.wrapTtlSeconds = wrapTtlSeconds;
  const found = await identify(kernel, request, place);
  trail.token = found;
  const counted = {
    namespaceId: place.namespace.uuid,
    mountUuid: place.mount?.uuid,
    path: place.path,
    folding: place.folding,
    address: request.address,
  };
  kernel.quotas.check(counted, request);
  const bounds = boundsOf(place, found !== undefined);
  if (request.readBody) {
    request.sent = await request.readBody(bounds);
    // A body may take its time, and the namespace be locked meanwhile.
    checkPlace({ ...place, namespace: kernel.namespaces.find(place.namespace.uuid) ?? place.namespace });
  } else requireWithin(request.sent, bounds);
  const bearer = found && (await authenticate(kernel, found));
  trail.bearer = bearer;
  const set = newWriteSet();
  const running = place.mount && new Running(kernel, request, place, bearer, wrapTtlSeconds, set);
  const grant =
    bearer && place.auth === 'token'
      ? await authorize(request, place, bearer, wrapTtlSeconds, () => exists(running!, place))
      : undefined;
  trail.grant = grant;
  if (request.help && place.mount && place.below === '') return mountHelp(kernel, place.mount);
  if (request.help && place.declared) return pathHelp(kernel, place.mount!, place.declared);
  requireOperation(place, bearer);
  const factors = grant?.decision?.rule?.mfaMethods;
  if (factors && factors.length > 0) await proveFactors(kernel, request, bearer!, factors);
  const written = trail.requestLine();
  if (written) await written;
  // Whoever was told that it took too long must be able to rely on nothing beginning afterwards.
  if (trail.answered) throw timedOut();
  const call = running!;
  if (grant) call.allow(grant);
  if (kernel.chained || grant?.guard) call.storage.joining = joiningOf(kernel, call, trail);
  try {
    const shaped = shapeListing(await run(kernel, call, request, trail), call);
    const outcome = await settle(kernel, call, shaped instanceof Promise ? await shaped : shaped, set, trail);
    if (set.opened.length > set.settled.length) void kernel.leases.letGo(unsettled(set));
    return outcome;
  } catch (error) {
    void kernel.leases.letGo(set.opened);
    throw error;
  }
}

/** Where a request leads; undefined where that is nowhere, and another node may have made something there a moment ago. */
function knownPlace(kernel: Kernel, { path, verb, namespace }: Request): Place | undefined {
  try {
    const place = path.locate(kernel.namespaces, kernel.mounts, verb, namespace);
    return place.mount || !kernel.changes.mustTell ? place : undefined;
  } catch (error) {
    if (kernel.changes.mustTell && error instanceof Refusal && error.kind === 'missing') return undefined;
    throw error;
  }
}

async function newestPlace(kernel: Kernel, { path, verb, namespace }: Request): Promise<Place> {
  await kernel.changes.catchUp();
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  return path.locate(kernel.namespaces, kernel.mounts, verb, namespace);
}

/** Runs the handler; one that lays fields over what is stored decides by what is stored when its turn comes. */
async function run(kernel: Kernel, call: Running, { sent: { fields, exact } }: Request, trail: Trail): Promise<Reply> {
  const operation = call.place.operation!;
  const { stored } = call.place.declared!;
  if (operation.update === 'merge' && stored && !operation.once) {
    return call.storage.transaction(call.path, async (tx) => {
      const view = call.on(tx);
      call.unsay();
      call.stored = await stored(view);
      call.input = kernel.inputs.parse(operation, fields, exact, call.stored);
      return operation.run(view);
    });
  }
  if (operation.update && call.stored === undefined) call.stored = await stored?.(call);
  if (!isReading(call.verb)) call.storage.watch();
  call.input = kernel.inputs.parse(operation, fields, exact, call.stored);
  if (operation.dropsKeys && kernel.chained) await recordFirst(kernel, trail);
  return operation.run(call);
}

/** What goes along with each thing that a call decides: its rights, as things stand then, and its line for the chain. */
function joiningOf(kernel: Kernel, call: Running, trail: Trail): Joining {
  const { grant, place } = call;
  return {
    async judge(tx) {
      if (grant?.guard && (await isThere(call.on(tx), place)) !== (grant.guard === 'present')) {
        throw new Refusal('denied', 'permission denied');
      }
    },
    add(set) {
      if (kernel.chained && !trail.chained) set.audit.push(trail.chainLine());
    },
    done() {
      trail.chained = true;
    },
  };
}

/** The table's digest needs the keys that will be gone. */
async function recordFirst(kernel: Kernel, trail: Trail): Promise<void> {
  const set = newWriteSet();
  set.audit.push(trail.chainLine());
  await kernel.committer.commit(set);
  trail.chained = true;
}

/** Requests that take longer are answered; what they began goes on. */
function within<T>({ silence, timeoutSeconds }: Kernel, trail: Trail | undefined, work: () => Promise<T>): Promise<T> {
  if (silence.lasts) return Promise.reject(unavailable());
  return new Promise((resolve, reject) => {
    const over = silence.whenItLasts(
      (why) => reject(why === 'late' ? timedOut() : unavailable()),
      timeoutSeconds * 1000,
      trail,
    );
    work().then(
      (value) => {
        over();
        resolve(value);
      },
      (error) => {
        over();
        reject(error);
      },
    );
  });
}

const unavailable = (): Refusal => new Refusal('unavailable', 'storage is unavailable');

const timedOut = (): Refusal => new Refusal('timeout', 'request timed out');

/** Nothing but a status for whoever has this version of the answer already. */
function unlessKnown(outcome: Outcome, { ifNoneMatch }: Request): Outcome {
  if (ifNoneMatch === undefined || outcome.headers?.ETag !== ifNoneMatch) return outcome;
  const { headers, contentType } = outcome;
  return { status: 304, headers, contentType };
}

/** The second factors that the rule which grants a request asks of the request itself. */
function proveFactors(
  { mfa, namespaces }: Kernel,
  request: Request,
  bearer: Bearer,
  factors: readonly DemandedMethod[],
): Promise<void> {
  const wanted = factors.map(({ namespacePath, method }) => ({
    namespaceId: namespaces.at(namespaces.root, namespacePath)?.uuid ?? '',
    method,
  }));
  return mfa.stepUp.prove(bearer.record.entityId ?? '', wanted, request.mfa);
}

async function exists(running: Running, place: Place): Promise<boolean> {
  if (place.declared?.exists) return isThere(running, place);
  running.stored = await place.declared?.stored?.(running);
  return running.stored !== undefined;
}

async function isThere(call: Call, { declared }: Place): Promise<boolean> {
  return declared?.exists ? declared.exists(call) : (await declared?.stored?.(call)) !== undefined;
}

function parseWrapTtl(text: string): number {
  const seconds = parseDuration(text);
  if (seconds === undefined || seconds < 0) {
    throw new Refusal('malformed', `error parsing X-Service-Wrap-TTL header: time: invalid duration "${text}"`);
  }
  return seconds;
}

// A refusal after the caller was known travels through a list on its way out, except on paths that ask for no token.
function inCallersWords(error: unknown, trail: Trail): unknown {
  if (!(error instanceof Refusal) || error.kind !== 'denied' || !trail.bearer) return error;
  if (error.message.startsWith('1 error occurred')) return error;
  error.message = listedText(error.message);
  return error;
}

/** A token whose last use this was ends once its request is over. */
function spent(kernel: Kernel, bearer: Bearer | undefined): void {
  if (bearer?.record.usesLeft !== -1) return;
  kernel.leases.endToken(bearer.record).catch((error) => kernel.log.warn({ err: error }, 'a spent token did not end'));
}

function routeOf({ mount, declared }: Place): string | undefined {
  return mount && declared && `${mount.type}/${declared.pattern}`;
}
