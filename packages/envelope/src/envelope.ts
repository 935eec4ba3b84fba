/** The `auth` block: a token that was just issued or renewed. */
export interface Auth {
  readonly clientToken: string;
  readonly accessor: string;
  /** Null only while a login waits for its second factor. */
  readonly policies: readonly string[] | null;
  readonly tokenPolicies: readonly string[];
  readonly identityPolicies: readonly string[];
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly leaseDurationSeconds: number;
  readonly renewable: boolean;
  readonly entityId: string;
  readonly tokenType: 'service' | 'batch' | 'default';
  readonly orphan: boolean;
  readonly mfaRequirement: Readonly<Record<string, unknown>> | null;
  readonly numUses: number;
}

/** The `wrap_info` block: the token that fetches a wrapped response once. */
export interface WrapInfo {
  readonly token: string;
  readonly accessor: string;
  readonly ttlSeconds: number;
  /** RFC 3339. */
  readonly creationTime: string;
  readonly creationPath: string;
  readonly wrappedAccessor?: string;
}

/** The content of an envelope; absent members are written in their empty form. */
export interface Envelope {
  readonly requestId: string;
  readonly leaseId?: string;
  readonly renewable?: boolean;
  readonly leaseDurationSeconds?: number;
  readonly data?: Readonly<Record<string, unknown>> | null;
  /** `data` as JSON text, inserted unchanged; takes precedence over `data`. */
  readonly dataText?: string;
  readonly wrapInfo?: WrapInfo | null;
  readonly warnings?: readonly string[] | null;
  readonly auth?: Auth | null;
}

/**
 * The standard response as JSON text: all eight keys in order. Written by hand because this runs for every request.
 * Spec: Response envelopes.
 */
export function envelope(e: Envelope): string {
  return `{${body(e, dataOf(e))}}\n`;
}

/** The standard answer with the fields of `data` also at the top level, before the envelope's own keys. */
export function injected(e: Envelope): string {
  const data = dataOf(e);
  const inner = data.startsWith('{') ? data.slice(1, -1) : '';
  return inner === '' ? `{${body(e, data)}}\n` : `{${inner},${body(e, data)}}\n`;
}

function dataOf(e: Envelope): string {
  return e.dataText ?? (e.data ? JSON.stringify(e.data) : 'null');
}

function body(e: Envelope, data: string): string {
  const isPlain = !e.leaseId && !e.renewable && !e.leaseDurationSeconds && !e.wrapInfo && !e.warnings && !e.auth;
  if (isPlain) {
    return `"request_id":"${e.requestId}","lease_id":"","renewable":false,"lease_duration":0,"data":${
      data
    },"wrap_info":null,"warnings":null,"auth":null`;
  }
  const lease = e.leaseId ? JSON.stringify(e.leaseId) : '""';
  const warnings = e.warnings && e.warnings.length > 0 ? JSON.stringify(e.warnings) : 'null';
  return `"request_id":"${e.requestId}","lease_id":${lease},"renewable":${e.renewable === true},"lease_duration":${
    e.leaseDurationSeconds ?? 0
  },"data":${data},"wrap_info":${e.wrapInfo ? wrapText(e.wrapInfo) : 'null'},"warnings":${warnings},"auth":${
    e.auth ? JSON.stringify(authFields(e.auth)) : 'null'
  }`;
}

/** The `auth` block as it is written. */
export function authFields(auth: Auth): Readonly<Record<string, unknown>> {
  const { tokenPolicies, identityPolicies } = auth;
  return {
    client_token: auth.clientToken,
    accessor: auth.accessor,
    policies: auth.policies,
    token_policies: tokenPolicies.length > 0 ? tokenPolicies : undefined,
    identity_policies: identityPolicies.length > 0 ? identityPolicies : undefined,
    metadata: auth.metadata,
    lease_duration: auth.leaseDurationSeconds,
    renewable: auth.renewable,
    entity_id: auth.entityId,
    token_type: auth.tokenType,
    orphan: auth.orphan,
    mfa_requirement: auth.mfaRequirement,
    num_uses: auth.numUses,
  };
}

function wrapText(wrap: WrapInfo): string {
  return JSON.stringify({
    token: wrap.token,
    accessor: wrap.accessor,
    ttl: wrap.ttlSeconds,
    creation_time: wrap.creationTime,
    creation_path: wrap.creationPath,
    wrapped_accessor: wrap.wrappedAccessor,
  });
}

/** The body of every refusal and fault: a list of messages, which is empty for a plain "not found". */
export function errorBody(errors: readonly string[]): string {
  return `${JSON.stringify({ errors })}\n`;
}

/** The body of a refusal that contains more than messages: the messages, and the keys of the standard response. */
export function tellingErrorBody(errors: readonly string[], content: Envelope): string {
  return `{"errors":${JSON.stringify(errors)},${envelope(content).slice(1)}`;
}
