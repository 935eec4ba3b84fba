import { Refusal } from '@keystead/refusal';
import type { Operation as Capability } from '../kernel/policy/capability';
import type { Decision } from '../kernel/policy/types';
import { questionOf, type RouteMatch } from '../kernel/routing/sent-path';
import type { AnyOperation } from '../sdk/path';
import { listed, listedText } from '../sdk/reply';
import type { Bearer, Grant, Request } from './request';

/** The properties of the path's target that the decision needs. */
export interface Existence {
  readonly isThere: boolean;
  readonly stored?: unknown;
}

/** A refusal by a policy, with the rule that refused the request; the rule appears only in the audit log. */
export class PolicyDenied extends Refusal {
  constructor(
    readonly decision: Decision,
    what = '',
  ) {
    super('denied', `permission denied${what}`);
  }
}

/**
 * Checks the caller's policies. If a path can be both created and changed and the rules grant both, nothing is read. If
 * they grant only one, `exists` decides, and the commit checks this again. Throws `denied`.
 */
export async function authorize(
  request: Request,
  match: RouteMatch,
  bearer: Bearer,
  wrapTtlSeconds: number,
  exists: () => Promise<Existence>,
): Promise<Grant> {
  const { access } = bearer;
  if (access.root) return { capability: capabilityOf(request), sudo: true, guard: undefined, decision: undefined };
  const question = questionOf(match);
  const ask = (operation: Capability): Decision =>
    access.decide({
      ...question,
      operation,
      parameters: request.sent.fields,
      wrapTtlSeconds: wrapTtlSeconds > 0 ? wrapTtlSeconds : undefined,
    });
  let capability = capabilityOf(request);
  let decision = ask(capability);
  let guard: Grant['guard'];
  let stored: unknown;
  if (request.verb === 'write' && (match.declared?.exists || match.declared?.stored)) {
    const create = ask('create');
    if (create.allowed !== decision.allowed) {
      guard = create.allowed ? 'absent' : 'present';
      const found = await exists();
      stored = found.stored;
      if (found.isThere !== (guard === 'present')) throw new PolicyDenied(decision.allowed ? create : decision);
      if (create.allowed) {
        capability = 'create';
        decision = create;
      }
    }
  }
  if (!decision.allowed) throw new PolicyDenied(decision);
  const needsSudo = match.operation?.sudo ?? match.declared?.sudo ?? false;
  if (needsSudo && !decision.sudo) throw new PolicyDenied(decision);
  return { capability, sudo: decision.sudo, guard, decision, stored };
}

/**
 * Refuses a request without a target, with a message that this caller may read: only root learns which mounts exist.
 */
export function requireOperation(match: RouteMatch, bearer: Bearer | undefined): void {
  if (match.operation) return;
  if (!match.mount) {
    if (bearer?.access.root) {
      throw new Refusal('unsupported-path', `no handler for route "${match.path}". route entry not found.`);
    }
    throw listed('denied', 'permission denied');
  }
  const isDeclared = match.declared !== undefined;
  if (match.declared?.responseFormat === 'raw') throw new Refusal('unsupported-operation', '');
  const text = isDeclared ? 'unsupported operation' : 'unsupported path';
  const kind = isDeclared ? 'unsupported-operation' : 'unsupported-path';
  const { elsewhere } = match.mount.backend;
  if (!isDeclared && elsewhere !== undefined) throw new Misguided(listedText(text), elsewhere);
  throw match.auth === 'none' ? new Refusal(kind, text) : listed(kind, text);
}

function capabilityOf(request: Request): Capability {
  return request.verb === 'write' ? 'update' : request.verb;
}

/** The path does not exist, and a warning names the right one: tools show the warning rather than the refusal. */
export class Misguided extends Refusal {
  constructor(
    message: string,
    readonly warning: string,
  ) {
    super('unsupported-path', message);
  }
}

/** A page requested something that its session allows only after a step-up. */
export class StepUpRequired extends Refusal {
  constructor() {
    super('denied', 'step-up-required: confirm your identity at /ui/session/step-up, then send the request again');
  }
}

/** Throws `StepUpRequired` for sessions that need a step-up; never for callers who send a token. */
export function requireStepUp({ session }: Pick<Request, 'session'>, operation: AnyOperation | undefined): void {
  if (session && !session.steppedUp && operation?.stepUp) throw new StepUpRequired();
}
