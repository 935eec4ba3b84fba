import { Refusal, type RefusalKind } from '@keystead/refusal';

/** What a handler answers; the pipeline turns it into status, envelope, lease and audit line. */
export type Reply =
  | DataReply
  | EmptyReply
  | MissingReply
  | SecretReply
  | LoginReply
  | IssueReply
  | AuthReply
  | RawReply
  | WrappedReply
  | RewrappedReply;

export interface DataReply {
  readonly kind: 'data';
  /** The object, or its JSON text in `text`. */
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly text?: string;
  /** If it is not the one of a success: for answers that say what of them failed. */
  readonly status?: number;
  /** The handle of the content of `data`; returned with the token that unwraps it. */
  readonly accessor?: string;
  /** For answers that speak of a lease they did not make (renewal). */
  readonly lease?: { readonly id: string; readonly renewable: boolean; readonly durationSeconds: number };
}
export interface EmptyReply {
  readonly kind: 'empty';
}
export interface MissingReply {
  readonly kind: 'missing';
}
export interface SecretReply {
  readonly kind: 'secret';
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** What revoking it will need; sealed with the lease, never shown. */
  readonly internal: Readonly<Record<string, unknown>>;
  /** 0 or absent takes the mount's default. */
  readonly ttlSeconds?: number;
  /** 0 or absent takes the mount's maximum. */
  readonly maxTtlSeconds?: number;
  readonly renewable?: boolean;
  /** Later calls of this caller may be given the same secret again: see `Call.findReusable`. */
  readonly reuseKey?: string;
}

/** A successful login: who it was and what their token may be. The pipeline finds the entity and mints. */
export interface Login {
  readonly alias: { readonly name: string; readonly metadata?: Readonly<Record<string, string>> } | null;
  /** Groups by the names the method gives them; a renewal that leaves them out goes by the last login. */
  readonly groupAliases?: readonly string[];
  readonly displayName: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  readonly noDefaultPolicy?: boolean;
  readonly ttlSeconds?: number;
  readonly maxTtlSeconds?: number;
  readonly explicitMaxTtlSeconds?: number;
  readonly periodSeconds?: number;
  readonly numUses?: number;
  readonly boundCidrs?: readonly string[];
  /** Only the address that logged in may use the token, in place of `boundCidrs`. */
  readonly bindsAddress?: boolean;
  /** Digest of what the method demanded: a login that waits for second factors ends when that changes. */
  readonly demands?: string;
  readonly type?: 'service' | 'batch' | 'default' | '';
  readonly renewable?: boolean;
  /** What the backend's `renewLogin` will be given; sealed with the token. A renewal that answers one replaces it. */
  readonly internal?: Readonly<Record<string, unknown>>;
}
export interface LoginReply {
  readonly kind: 'login';
  readonly login: Login;
  /** Where the login was made, when another path finishes it: its second factors are proven already. */
  readonly origin?: LoginOrigin;
}

/** A login made elsewhere: by which mount, at which path of the namespace, from which address, and for which entity. */
export interface LoginOrigin {
  readonly mountUuid: string;
  readonly path: string;
  readonly address: string;
  readonly entityId: string;
}

/** A token made for a caller by the token backend: every check done, only minting left. */
export interface Issue {
  readonly id?: string;
  readonly parentHash?: string;
  readonly orphan: boolean;
  readonly type: 'service' | 'batch';
  readonly policies: readonly string[];
  readonly meta: Readonly<Record<string, string>> | null;
  readonly displayName: string;
  readonly entityId: string;
  readonly path: string;
  /** Already capped; 0 never expires. */
  readonly ttlSeconds: number;
  readonly explicitMaxTtlSeconds: number;
  readonly periodSeconds: number;
  readonly renewable: boolean;
  readonly numUses: number;
  readonly boundCidrs: readonly string[];
  readonly role?: string;
}
export interface IssueReply {
  readonly kind: 'issue';
  readonly issue: Issue;
}

/** The `auth` block of an envelope, in wire order. */
export interface AuthBlock {
  readonly clientToken: string;
  readonly accessor: string;
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
export interface AuthReply {
  readonly kind: 'auth';
  readonly auth: AuthBlock;
}

/** A raw body, without envelope. */
export interface RawReply {
  readonly kind: 'raw';
  readonly status: number;
  readonly body: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Begins an answer that goes on; returns what is to be called when its reader has left. */
  readonly stream?: (sink: StreamSink) => () => void;
}

/** Where an answer that goes on is written to. */
export interface StreamSink {
  write(text: string): void;
  end(): void;
  /** Bytes that its reader has not taken yet. */
  readonly unread: number;
}

/** An envelope taken out of a wrapping token; only the request id is new. */
export interface WrappedReply {
  readonly kind: 'unwrapped';
  /** JSON text of the envelope that was wrapped. */
  readonly envelope: string;
}

/** A wrapped answer under a fresh token. */
export interface RewrappedReply {
  readonly kind: 'rewrapped';
  readonly token: string;
  readonly accessor: string;
  readonly createdAtMs: number;
  readonly creationPath: string;
  readonly ttlSeconds: number;
}

/** 200 with `data`. */
export const data = (value: Readonly<Record<string, unknown>> | null, lease?: DataReply['lease']): DataReply =>
  lease ? { kind: 'data', data: value, lease } : { kind: 'data', data: value };

/** 404 with `data`: something of that name was there, and this is what can still be said of it. */
export const gone = (text: string): DataReply => ({ kind: 'data', data: null, text, status: 404 });

/** 200 with `data` given as JSON text, spliced into the envelope as it is. */
export const dataText = (text: string): DataReply => ({ kind: 'data', data: null, text });

/** A list: 200 with `keys` (and `key_info`), 404 when there are none. */
export const keys = (names: readonly string[], info?: Readonly<Record<string, unknown>>): DataReply | MissingReply =>
  names.length === 0 ? missing : data(info ? { key_info: info, keys: names } : { keys: names });

/** 204 (200 with an empty envelope when there is a warning to tell). */
export const empty: EmptyReply = { kind: 'empty' };

/** 404 with no error text: the thing does not exist. */
export const missing: MissingReply = { kind: 'missing' };

/** 200 with a leased secret; `type` names the entry of the backend's `secrets` that can revoke it. */
export const secret = (type: string, what: Omit<SecretReply, 'kind' | 'type'>): SecretReply => ({
  kind: 'secret',
  type,
  ...what,
});

/** 200 with the `auth` of a fresh token for a login. */
export const login = (who: Login, origin?: LoginOrigin): LoginReply => ({ kind: 'login', login: who, origin });

/** 200 with the `auth` of a fresh token. */
export const issue = (token: Issue): IssueReply => ({ kind: 'issue', issue: token });

/** 200 with an `auth` that exists already (renewal). */
export const auth = (block: AuthBlock): AuthReply => ({ kind: 'auth', auth: block });

/** A bare body, as the older system endpoints have it. */
/** A text that goes on. */
export const stream = (contentType: string, begin: (sink: StreamSink) => () => void): Reply => ({
  kind: 'raw',
  status: 200,
  body: '',
  contentType,
  stream: begin,
});

export const raw = (body: unknown, status = 200): RawReply => ({ kind: 'raw', status, body });

/** A refusal in the form clients know from errors that travelled through a list: `1 error occurred:` and so on. */
export function listed(kind: RefusalKind, message: string): Refusal {
  return new Refusal(kind, listedText(message));
}

/** The text form of a list holding one error. */
export function listedText(message: string): string {
  return `1 error occurred:\n\t* ${message}\n\n`;
}
