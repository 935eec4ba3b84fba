import type { Identified } from '../policy/access';
import type { Barrier, ChangeNotices, Clock, Committer, Tx } from '../storage/types';

/** Key-value pairs that operators and auth methods attach. */
export type Metadata = Readonly<Record<string, string>>;

/** A person or machine, which may have any number of logins. */
export interface Entity {
  readonly id: string;
  readonly namespaceId: string;
  readonly name: string;
  /** A disabled entity can neither log in nor use its tokens. */
  readonly disabled: boolean;
  readonly metadata: Metadata;
  readonly policies: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The name of an entity at an auth mount. */
export interface EntityAlias {
  readonly id: string;
  readonly namespaceId: string;
  readonly entityId: string;
  readonly mountId: string;
  readonly mountAccessor: string;
  readonly name: string;
  /** From the auth method, at the last login. */
  readonly metadata: Metadata | null;
  readonly customMetadata: Metadata | null;
  /** Group names from the auth method at the last login; absent if it has no groups. */
  readonly groupNames?: readonly string[];
  readonly local: boolean;
  /** Entities this alias belonged to before they were merged. */
  readonly mergedFromIds: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Who decides on members: operators or logins. */
export type GroupType = 'internal' | 'external';

/** Entities and groups that share policies. Members of an external group come from logins only. */
export interface Group {
  readonly id: string;
  readonly namespaceId: string;
  readonly name: string;
  readonly type: GroupType;
  readonly metadata: Metadata;
  readonly policies: readonly string[];
  /** Counts changes. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The name of an external group at an auth mount. Without a mount, no login can match it. */
export interface GroupAlias {
  readonly id: string;
  readonly namespaceId: string;
  readonly groupId: string;
  readonly mountId?: string;
  readonly mountAccessor: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A group with its members and alias. */
export interface GroupDetails extends Group {
  readonly memberEntityIds: readonly string[];
  readonly memberGroupIds: readonly string[];
  readonly parentGroupIds: readonly string[];
  readonly alias?: GroupAlias;
}

/** An entity with its aliases and groups. */
export interface EntityDetails extends Entity {
  readonly aliases: readonly EntityAlias[];
  readonly mergedEntityIds: readonly string[];
  readonly directGroupIds: readonly string[];
  readonly inheritedGroupIds: readonly string[];
  readonly mfaSecrets: readonly {
    readonly methodId: string;
    readonly methodType: string;
    readonly methodName: string;
  }[];
}

/** The cached view of an entity for requests and logins; a new object after every change. */
export interface IdentityView extends Identified {
  readonly namespaceId: string;
  readonly name: string;
  readonly disabled: boolean;
  /** Policy names in the entity's own namespace, sorted, as shown in `identity_policies`. */
  readonly ownPolicies: readonly string[];
  readonly groupIds: ReadonlySet<string>;
}

/** The dependencies of identity. */
export interface IdentityNeeds {
  readonly database: Pick<Tx, 'query' | 'prisma'>;
  readonly committer: Pick<Committer, 'transaction' | 'inTurn'>;
  readonly barrier: Pick<Barrier, 'sealJson' | 'openJson' | 'mac'>;
  readonly notices: ChangeNotices;
  readonly clock: Clock;
  /** True if the second namespace is the first or below it. */
  isWithin(outer: string, inner: string): boolean;
}

/** A page of names or ids in bytewise order. */
export interface IdentityPage {
  readonly after?: string;
  readonly limit?: number;
}
