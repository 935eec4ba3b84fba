import type { ReplayLag, Silence } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import type { Attempts } from '../kernel/attempts/attempts';
import type { Audit } from '../kernel/audit/audit';
import type { ReadTrail } from '../kernel/audit/reads';
import type { StoredAudit } from '../kernel/audit/stored-audit';
import type { Identity } from '../kernel/identity/identity';
import type { Leases } from '../kernel/leases/leases';
import type { Mfa } from '../kernel/mfa/mfa';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts } from '../kernel/mounts/mounts';
import type { PathTree } from '../kernel/mounts/path-tree';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { Access } from '../kernel/policy/access';
import type { Quotas } from '../kernel/quotas/quotas';
import type { Barrier, ChangeNotices, Clock, Committer, EntryStore } from '../kernel/storage/types';
import type { Tokens } from '../kernel/tokens/types';
import type { Wrapping } from '../kernel/wrapping/wrapping';
import type { BackgroundCall } from '../sdk/call';
import type { Path } from '../sdk/path';
import type { DecisionQueues } from './decision-queues';
import type { InputParsers } from './parse-input';

/** Everything that handling a request needs, built by `service.ts`. */
export interface Kernel {
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly entries: EntryStore;
  readonly decisions: DecisionQueues;
  readonly changes: Pick<ChangeNotices, 'mustTell' | 'catchUp'>;
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly access: Access;
  readonly tokens: Tokens;
  readonly identity: Identity;
  readonly mfa: Mfa;
  readonly leases: Leases;
  readonly wrapping: Wrapping;
  readonly quotas: Quotas;
  readonly attempts: Attempts;
  readonly audit: Audit;
  readonly reads: Pick<ReadTrail, 'recording' | 'note'>;
  readonly storedAudit: Pick<StoredAudit, 'refresh'>;
  /** Runs something with the storage of a mount, outside any request. */
  readonly inBackground: <T>(mount: LiveMount, run: (call: BackgroundCall) => Promise<T>) => Promise<T>;
  /** Whether changes are also written to the hash-chained audit table, in their own transaction. */
  readonly chained: boolean;
  readonly inputs: InputParsers;
  /** The time limit of requests. Requests that take longer are refused. Work that they have started continues. */
  readonly timeoutSeconds: number;
  /** Detects that the database does not answer. Requests then do not wait for it. */
  readonly silence: Pick<Silence, 'lasts' | 'begin' | 'end' | 'waiters'>;
  /** Set if this node only reads, from a standby. `primaryUrl` is the address of the writing nodes. */
  readonly standby: { readonly lag: Pick<ReplayLag, 'trouble'>; readonly primaryUrl: string | undefined } | undefined;
  /** The document of one declared path. */
  readonly help: (mount: LiveMount, declared: readonly Path[]) => Readonly<Record<string, unknown>>;
  /** System paths that answer while the service is sealed, without mounts or namespaces. */
  readonly whileSealed: PathTree;
  readonly log: Logger;
}
