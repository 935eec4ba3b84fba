import { authFields } from '@keystead/envelope';
import { isRefusal } from '@keystead/refusal';
import type { Audit, AuditCaller, AuditedRequest } from '../kernel/audit/audit';
import type { RouteMatch } from '../kernel/routing/sent-path';
import type { WriteSet } from '../kernel/storage/types';
import { add } from '../kernel/storage/write-set';
import type { TokenRecord } from '../kernel/tokens/types';
import { PolicyDenied } from './authorize';
import type { Kernel } from './kernel';
import type { Bearer, Outcome, Request, RequestContext } from './request';

/** The content of a request's audit lines, as far as it is known. */
export function entryOf({ inputs, audit }: Kernel, request: Request, context: RequestContext): AuditedRequest {
  const { sent } = request;
  const { match, bearer, token, grant, wrapTtlSeconds } = context;
  return {
    id: request.id,
    sentId: request.sentId,
    operation: grant?.capability ?? (request.verb === 'write' ? 'update' : request.verb),
    path: match?.path ?? request.path.unplaced,
    namespace: match?.namespace ?? { id: '', path: request.namespace },
    mount: match?.mount,
    fields: sent.fields,
    declared: match?.operation ? inputs.declared(match.operation) : nothingDeclared,
    sent,
    address: request.address,
    wrapTtlSeconds,
    caller: callerOf(bearer, token, request),
    clear: match?.operation?.auditClear,
    named: namedByMount(match),
    hidesKeys: match?.operation?.auditHidesKeys,
    headers: audit.headers.of(request),
  };
}

/** Writes the request line, or prepares the row of the chained table. Call it before anything changes. */
export function requestLine({ audit }: Kernel, entry: AuditedRequest): Promise<void> | undefined {
  return audit.active ? audit.request(entry) : audit.prepare(entry);
}

/** Writes the line of an answer. */
export function responseLine(
  kernel: Kernel,
  request: Request,
  context: RequestContext,
  outcome: Outcome,
): Promise<void> | undefined {
  const { audit } = kernel;
  if (!audit.active) return undefined;
  const e = outcome.envelope;
  return audit.response(context.entry ?? entryOf(kernel, request, context), {
    status: outcome.status,
    data: e ? e.data : fieldsIn(outcome.bare),
    dataText: e?.dataText ?? (outcome.stored === undefined ? undefined : outcome.stored),
    auth: e?.auth ? authFields(e.auth) : undefined,
    leaseId: e?.leaseId,
    wrapToken: e?.wrapInfo?.token,
    warnings: e?.warnings ?? undefined,
  });
}

/**
 * Writes the lines of a refused or failed request: its request line, unless that was written before, and its response
 * line.
 */
export async function failureLines(
  kernel: Kernel,
  request: Request,
  context: RequestContext,
  error: unknown,
  status: number,
): Promise<void> {
  const { audit } = kernel;
  if (!audit.active) return;
  const message = isRefusal(error) ? error.message : 'internal error';
  const rule = error instanceof PolicyDenied ? explain(error) : undefined;
  const problem = { message, rule };
  const entry = context.entry ?? entryOf(kernel, request, context);
  if (!context.entry) await audit.request(entry, problem);
  await audit.response(entry, { status }, problem);
}

/** The line of a request in the chained table. It is committed only once, with the first decision of the request. */
export class ChainedLine {
  private committed = false;

  constructor(
    private readonly audit: Audit,
    private readonly entry: AuditedRequest,
  ) {}

  /** Adds the line to the write set of a decision, unless an earlier decision has committed it. */
  join(set: WriteSet): void {
    if (!this.committed) add(set, 'audit', this.audit.line(this.entry));
  }

  /** Called after a decision with this line was committed. */
  done(): void {
    this.committed = true;
  }
}

const nothingDeclared: ReadonlySet<string> = new Set();

// One object for each token record and token, so that a token is hashed only once.
const callers = new WeakMap<object, AuditCaller>();

function callerOf(
  bearer: Bearer | undefined,
  token: TokenRecord | undefined,
  request: Request,
): AuditCaller | undefined {
  const record = bearer?.record ?? token;
  if (!record) {
    if (request.token === undefined) return undefined;
    return {
      token: request.token,
      accessor: '',
      displayName: '',
      policies: [],
      tokenPolicies: [],
      entityId: '',
      tokenType: '',
    };
  }
  const policies = bearer?.policies ?? record.policies;
  const shared = callers.get(record);
  if (shared && shared.policies === policies) return shared;
  const caller: AuditCaller = {
    token: request.token,
    accessor: record.accessor,
    displayName: record.displayName,
    policies,
    tokenPolicies: record.policies,
    entityId: record.entityId ?? '',
    tokenType: record.type,
  };
  callers.set(record, caller);
  return caller;
}

function namedByMount(match: RouteMatch | undefined): AuditedRequest['named'] {
  const config = match?.mount?.config;
  if (!config?.auditClearRequestKeys && !config?.auditClearResponseKeys) return undefined;
  return { request: new Set(config.auditClearRequestKeys), response: new Set(config.auditClearResponseKeys) };
}

function explain({ decision }: PolicyDenied): unknown {
  return { objection: decision.objection, pattern: decision.rule?.pattern, places: decision.rule?.places };
}

const fieldsIn = (bare: unknown): object | null | undefined =>
  typeof bare === 'object' && !(bare instanceof Uint8Array) ? bare : undefined;
