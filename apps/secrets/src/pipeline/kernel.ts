import type { Silence } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import type { Attempts } from '../kernel/attempts/attempts';
import type { Audit } from '../kernel/audit/audit';
import type { LeaseRecord } from '../kernel/leases/types';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts } from '../kernel/mounts/mounts';
import type { PathTree } from '../kernel/mounts/path-tree';
import type { Namespace, Namespaces } from '../kernel/namespaces/namespaces';
import type { Access, Identified } from '../kernel/policy/access';
import type { QuotaQuestion } from '../kernel/quotas/quotas';
import type { Barrier, ChangeNotices, Clock, Committer, EntryStore, WriteSet } from '../kernel/storage/types';
import type { TokenRecord, Tokens } from '../kernel/tokens/types';
import type { Path } from '../sdk/path';
import type { Login, SecretReply } from '../sdk/reply';
import type { InputParsers } from './parse-input';
import type { Turns } from './turns';

/** The identity of a caller, as far as a request needs it. */
export interface IdentityPort {
  /** Undefined when the entity is gone. */
  find(entityId: string): Promise<(Identified & { readonly disabled: boolean }) | undefined>;
  /** Finds or makes the entity of a login, and keeps its external groups. Throws `denied` for a disabled entity. */
  login(
    namespaceId: string,
    mount: LiveMount,
    alias: NonNullable<Login['alias']>,
    groupAliases: readonly string[],
  ): Promise<string>;
}

/** A lease that joined a write set. */
export interface NewLease {
  readonly id: string;
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
}

/** Lifetimes, as the pipeline needs them. */
export interface LeasePort {
  /** Adds a lease for a secret to the write set, its lifetime capped. */
  register(
    place: { readonly namespace: Namespace; readonly mount: LiveMount; readonly path: string },
    owner: TokenRecord | undefined,
    secret: SecretReply,
    set: WriteSet,
  ): Promise<NewLease>;
  /** Ends a secret at once that could not be registered or returned. */
  abandon(mount: LiveMount, secret: SecretReply): Promise<void>;
  /** Leaves what a call began outside and did not account for to the sweep. */
  letGo(intents: readonly string[]): Promise<void>;
  /** How the system behind a mount is reached was written. */
  reconfigured(mountId: string): void;
  /** The lease of an id; undefined where there is none in this namespace. */
  find(namespaceId: string, id: string): Promise<LeaseRecord | undefined>;
  /** Ends a token, its descendants, and everything they own. */
  endToken(record: TokenRecord): Promise<void>;
}

/** A wrapped answer that joined a write set. */
export interface Wrapped {
  readonly token: string;
  readonly accessor: string;
  readonly createdAtMs: number;
}

/** Single-use wrapped answers. */
export interface WrappingPort {
  /** Adds a wrapping token to the write set that holds the envelope's JSON text. */
  wrap(
    what: {
      readonly envelope: string;
      readonly namespace: Namespace;
      readonly path: string;
      readonly ttlSeconds: number;
      readonly wrappedAccessor?: string;
    },
    set: WriteSet,
  ): Wrapped;
}

/** Second factors of logins and of requests. */
export interface MfaPort {
  /**
   * Undefined when a login needs none, or those sent along are right; otherwise the login waits, and the answer says
   * in wire form what it must prove. Throws `denied` for wrong ones.
   */
  demand(
    login: {
      readonly namespaceId: string;
      readonly accessor: string;
      readonly mountType: string;
      readonly mountId: string;
      readonly entityId: string;
      readonly groupIds: ReadonlySet<string>;
      readonly path: string;
      readonly login: Login;
    },
    sentAlong: readonly string[],
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Makes sure that a request brings the second factors its policies ask for. Throws `denied`. */
  prove(
    entityId: string,
    wanted: readonly { readonly namespaceId: string; readonly method: string }[],
    sentAlong: readonly string[],
  ): Promise<void>;
}

/** Limits on how often and how much; consulted once the caller is known. */
export interface QuotaPort {
  /** Throws `limited`. */
  check(question: QuotaQuestion): void;
}

/** Everything the life of a request needs, built by `service.ts`. */
export interface Kernel {
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly entries: EntryStore;
  readonly turns: Turns;
  readonly changes: Pick<ChangeNotices, 'mustTell' | 'catchUp'>;
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly access: Access;
  readonly tokens: Tokens;
  readonly identity: IdentityPort;
  readonly mfa: MfaPort;
  readonly leases: LeasePort;
  readonly wrapping: WrappingPort;
  readonly quotas: QuotaPort;
  readonly attempts: Attempts;
  readonly audit: Audit;
  /** Changes also go to the hash-chained audit table, in their own transaction. */
  readonly chained: boolean;
  readonly inputs: InputParsers;
  /** Requests that take longer are answered with a refusal; what they began goes on. */
  readonly timeoutSeconds: number;
  /** While the database answers nothing nobody waits for it, whether they came before or come now. */
  readonly silence: Pick<Silence, 'lasts' | 'whenItLasts'>;
  /** The document of one declared path. */
  readonly help: (mount: LiveMount, declared: readonly Path[]) => Readonly<Record<string, unknown>>;
  /** System paths that answer while the service is sealed, without mounts or namespaces. */
  readonly whileSealed: PathTree;
  readonly log: Logger;
}
