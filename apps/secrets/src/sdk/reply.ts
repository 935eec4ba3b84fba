import type { Auth } from '@keystead/envelope';
import { Refusal, type RefusalKind } from '@keystead/refusal';

/** A handler's reply; the pipeline turns it into status, envelope, lease and audit line. */
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
  /** The status if it is not a success, for answers that list failures. */
  readonly status?: number;
  /** The accessor in `data`; returned with the token that unwraps it. */
  readonly accessor?: string;
  /** For answers about an existing lease (renewal). */
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
  /** The data that revocation needs; sealed with the lease, never shown. */
  readonly internal: Readonly<Record<string, unknown>>;
  /** 0 or absent means the mount's default. */
  readonly ttlSeconds?: number;
  /** 0 or absent means the mount's maximum. */
  readonly maxTtlSeconds?: number;
  readonly renewable?: boolean;
  /** Set if later calls of this caller may get the same secret again: see `Call.findReusable`. */
  readonly reuseKey?: string;
}

/**
 * A successful login: who it was, and the properties of the token. The pipeline finds the entity and mints the token.
 */
export interface Login {
  readonly alias: { readonly name: string; readonly metadata?: Readonly<Record<string, string>> } | null;
  /** Groups by the auth method's names; a renewal without them uses those of the last login. */
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
  /** Whether only the address that logged in may use the token. Replaces `boundCidrs`. */
  readonly bindsAddress?: boolean;
  /** Whether a passkey was used. A passkey is two factors, so MFA methods may accept it instead of a code. */
  readonly withPasskey?: boolean;
  /** A digest of the method's requirements: a login that waits for second factors ends if they change. */
  readonly demands?: string;
  readonly type?: 'service' | 'batch' | 'default' | '';
  readonly renewable?: boolean;
  /**
   * Data for the backend's `renewLogin`, sealed with the token. If a renewal returns new data, the new data replaces
   * this data.
   */
  readonly internal?: Readonly<Record<string, unknown>>;
}
export interface LoginReply {
  readonly kind: 'login';
  readonly login: Login;
  /** Where the login was made, if another path finishes it. Its second factors are already proven. */
  readonly origin?: LoginOrigin;
}

/** A login that took place elsewhere: its mount, its path in the namespace, its address and its entity. */
export interface LoginOrigin {
  readonly mountUuid: string;
  readonly path: string;
  readonly address: string;
  readonly entityId: string;
}

/** A token from the token backend: everything is checked, and the token must only be minted. */
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

export interface AuthReply {
  readonly kind: 'auth';
  readonly auth: Auth;
}

/** A raw body, without envelope. */
export interface RawReply {
  readonly kind: 'raw';
  readonly status: number;
  readonly body: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A long body, which replaces `body`. */
  readonly long?: LongBody;
  /** Starts a streamed response. Returns a function to call when the reader disconnects. */
  readonly stream?: (sink: StreamSink) => () => void;
}

/** Bytes that are read part by part, for example while they are sent. */
export interface LongBody {
  readonly bytes: number;
  parts(): AsyncIterable<Buffer>;
}

/** The sink of a streamed answer. */
export interface StreamSink {
  write(text: string): void;
  end(): void;
  /** Bytes that its reader has not read yet. */
  readonly unread: number;
}

/** An envelope from a wrapping token; only the request id is new. */
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

/** 404 with `data`: the object existed, and this metadata of it remains. */
export const notFoundWith = (text: string): DataReply => ({ kind: 'data', data: null, text, status: 404 });

/** 200 with `data` as JSON text, inserted into the envelope unchanged. */
export const dataText = (text: string): DataReply => ({ kind: 'data', data: null, text });

/** A list: 200 with `keys` (and `key_info`), 404 if there are none. */
export const keys = (names: readonly string[], info?: Readonly<Record<string, unknown>>): DataReply | MissingReply =>
  names.length === 0 ? missing : data(info ? { key_info: info, keys: names } : { keys: names });

/** 204 (200 with an empty envelope if there is a warning). */
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

/** 200 with an existing `auth` (renewal). */
export const auth = (block: Auth): AuthReply => ({ kind: 'auth', auth: block });

/** A bare body that is read while it is sent. */
export const rawParts = (long: LongBody): RawReply => ({ kind: 'raw', status: 200, body: '', long });

/** A streamed text. */
export const stream = (contentType: string, begin: (sink: StreamSink) => () => void): Reply => ({
  kind: 'raw',
  status: 200,
  body: '',
  contentType,
  stream: begin,
});

/** A bare body, as in the older system endpoints. */
export const raw = (body: unknown, status = 200): RawReply => ({ kind: 'raw', status, body });

/** A refusal in the form that clients expect from multi-errors: `1 error occurred:` and so on. */
export function listed(kind: RefusalKind, message: string): Refusal {
  return new Refusal(kind, listedText(message));
}

/** The text form of a list holding one error. */
export function listedText(message: string): string {
  return `1 error occurred:\n\t* ${message}\n\n`;
}
