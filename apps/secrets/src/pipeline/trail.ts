import { envelope } from '@keystead/envelope';
import { isRefusal } from '@keystead/refusal';
import type { Audit, AuditCaller, AuditedRequest } from '../kernel/audit/audit';
import type { Place } from '../kernel/routing/place';
import type { TokenRecord } from '../kernel/tokens/types';
import type { Verb } from '../sdk/call';
import type { Bearer } from './authenticate';
import { type Grant, PolicyDenied } from './authorize';
import type { Outcome } from './outcome';
import type { InputParsers } from './parse-input';
import type { Request } from './request';

/** What is known of a request that is being carried out. */
export interface RequestFacts {
  readonly id: string;
  readonly verb: Verb;
  /** From `/v1/` on, its namespace included. */
  readonly path: string;
  readonly address: string;
  /** The entity that asks; empty where there is none, or it is not known yet. */
  readonly entityId: string;
}

/** The audit side of one request: what is known so far, and which lines were written. */
export class Trail {
  place: Place | undefined;
  bearer: Bearer | undefined;
  grant: Grant | undefined;
  wrapTtlSeconds = 0;
  /** The request stands in the chained table already, committed with something it decided. */
  chained = false;
  /** Whose token it is, before anything was asked about its rights. */
  token: TokenRecord | undefined;
  /** Its answer is decided, and its last line is written or being written. */
  answered = false;
  private entry: AuditedRequest | undefined;

  constructor(
    private readonly audit: Audit,
    private readonly inputs: InputParsers,
    private readonly request: Request,
    /** Changes also go to the chained table. */
    private readonly keepsChain: boolean,
  ) {}

  /** Writes the request line; nothing may have been changed before it is written. */
  requestLine(): Promise<void> | undefined {
    if (!this.audit.active && !this.keepsChain) return undefined;
    this.entry = this.build();
    return this.audit.active ? this.audit.request(this.entry) : this.audit.prepare(this.entry);
  }

  /** The request as the chained table keeps it; once its request line is written. */
  chainLine(): string {
    return this.audit.line(this.entry!);
  }

  responseLine(outcome: Outcome): Promise<void> | undefined {
    this.answered = true;
    if (!this.audit.active) return undefined;
    const e = outcome.envelope;
    return this.audit.response(this.entry ?? this.build(), {
      status: outcome.status,
      data: e ? e.data : isFields(outcome.bare) ? outcome.bare : undefined,
      dataText: e?.dataText ?? (outcome.stored === undefined ? undefined : outcome.stored),
      auth: e?.auth ? authFields(e) : undefined,
      leaseId: e?.leaseId,
      wrapToken: e?.wrapInfo?.token,
      warnings: e?.warnings ?? undefined,
    });
  }

  /** Writes what a refused or failed request leaves: its request line, if it has none yet, and its response line. */
  async failed(error: unknown, status: number): Promise<void> {
    this.answered = true;
    if (!this.audit.active) return;
    const message = isRefusal(error) ? error.message : 'internal error';
    const rule = error instanceof PolicyDenied ? explain(error) : undefined;
    const problem = { message, rule };
    const entry = this.entry ?? this.build();
    if (!this.entry) await this.audit.request(entry, problem);
    await this.audit.response(entry, { status }, problem);
  }

  /** What is known of the request by now, for whoever asks what is being carried out. */
  facts(): RequestFacts {
    const { request, place } = this;
    return {
      id: request.id,
      verb: request.verb,
      path: `/v1/${place ? place.namespace.path + place.path : request.path.unplaced}`,
      address: request.address,
      entityId: (this.bearer?.record ?? this.token)?.entityId ?? '',
    };
  }

  private build(): AuditedRequest {
    const { request, place } = this;
    const { sent } = request;
    const mount = place?.mount;
    return {
      id: request.id,
      operation: this.grant?.capability ?? (request.verb === 'write' ? 'update' : request.verb),
      path: place?.path ?? request.path.unplaced,
      namespace: place ? { id: place.namespace.id, path: place.namespace.path } : { id: '', path: request.namespace },
      mount: mount && { path: mount.path, type: mount.type, accessor: mount.accessor },
      fields: sent.fields,
      declared: place?.operation ? this.inputs.declared(place.operation) : nothingDeclared,
      sent,
      address: request.address,
      wrapTtlSeconds: this.wrapTtlSeconds,
      caller: callerOf(this.bearer, this.token, request),
      clear: clearFields(place),
    };
  }
}

const nothingDeclared: ReadonlySet<string> = new Set();

// One object per token record and token text, so that the hashed text is made once per token.
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
  const known = callers.get(record);
  if (known && known.policies === policies) return known;
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

function clearFields(place: Place | undefined): readonly string[] | 'all' | undefined {
  const declared = place?.operation?.auditClear;
  const config = place?.mount?.config;
  if (declared === 'all' || (!config?.auditClearRequestKeys && !config?.auditClearResponseKeys)) return declared;
  return [...(declared ?? []), ...(config.auditClearRequestKeys ?? []), ...(config.auditClearResponseKeys ?? [])];
}

function authFields(e: NonNullable<Outcome['envelope']>): Record<string, unknown> {
  return (JSON.parse(envelope({ requestId: '', auth: e.auth })) as { auth: Record<string, unknown> }).auth;
}

function explain({ decision }: PolicyDenied): unknown {
  return { objection: decision.objection, pattern: decision.rule?.pattern, places: decision.rule?.places };
}

const isFields = (bare: unknown): boolean => typeof bare === 'object' && !(bare instanceof Uint8Array);
