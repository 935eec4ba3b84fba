/** Pairs of text. */
export type Pairs = Readonly<Record<string, string>>;

/** An entity alias. */
export interface EntityAliasFacts {
  readonly id: string;
  readonly entityId: string;
  readonly mountAccessor: string;
  readonly name: string;
  readonly metadata: Pairs | null;
  readonly customMetadata: Pairs | null;
  readonly local: boolean;
  readonly mergedFromIds: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** An entity with what hangs on it. */
export interface EntityFacts {
  readonly id: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly metadata: Pairs;
  readonly policies: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly aliases: readonly EntityAliasFacts[];
  readonly mergedEntityIds: readonly string[];
  readonly directGroupIds: readonly string[];
  readonly inheritedGroupIds: readonly string[];
  readonly mfaSecrets: readonly {
    readonly methodId: string;
    readonly methodType: string;
    readonly methodName: string;
  }[];
}

/** A group alias; an empty accessor stands for no mount. */
export interface GroupAliasFacts {
  readonly id: string;
  readonly groupId: string;
  readonly mountAccessor: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A group with what hangs on it. */
export interface GroupFacts {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly metadata: Pairs;
  readonly policies: readonly string[];
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly memberEntityIds: readonly string[];
  readonly memberGroupIds: readonly string[];
  readonly parentGroupIds: readonly string[];
  readonly alias?: GroupAliasFacts;
}

/** A mount that aliases can stand on. */
export interface AliasMountFacts {
  readonly uuid: string;
  readonly accessor: string;
  readonly local: boolean;
}

interface Page {
  readonly after?: string;
  readonly limit?: number;
}

interface Ref {
  readonly id?: string;
  readonly name?: string;
}

/** Identity, as the kernel lends it. The first argument is always the namespace. */
export interface IdentityPort {
  readonly entities: {
    write(
      namespaceId: string,
      ref: Ref,
      write: { name?: string; metadata?: Pairs; policies?: readonly string[]; disabled?: boolean },
    ): Promise<{ entity: { readonly id: string; readonly name: string }; created: boolean }>;
    find(namespaceId: string, id: string): Promise<EntityFacts | undefined>;
    findByName(namespaceId: string, name: string): Promise<EntityFacts | undefined>;
    list(
      namespaceId: string,
      by: 'id' | 'name',
      page: Page,
    ): Promise<readonly { id: string; name: string; aliases: readonly EntityAliasFacts[] }[]>;
    delete(namespaceId: string, ids: readonly string[]): Promise<void>;
    deleteByName(namespaceId: string, name: string): Promise<void>;
  };
  readonly entityAliases: {
    write(
      namespaceId: string,
      id: string | undefined,
      write: { name?: string; mount?: AliasMountFacts; entityId?: string; customMetadata?: Pairs },
    ): Promise<{ alias: EntityAliasFacts; outcome: 'created' | 'changed' | 'unchanged' }>;
    find(namespaceId: string, id: string): Promise<EntityAliasFacts | undefined>;
    findByName(mountId: string, name: string): Promise<EntityAliasFacts | undefined>;
    list(namespaceId: string, page: Page): Promise<readonly EntityAliasFacts[]>;
    delete(namespaceId: string, id: string): Promise<void>;
  };
  readonly groups: {
    write(
      namespaceId: string,
      ref: Ref,
      write: {
        name?: string;
        type?: string;
        metadata?: Pairs;
        policies?: readonly string[];
        memberEntityIds?: readonly string[];
        memberGroupIds?: readonly string[];
      },
    ): Promise<{ group: { readonly id: string; readonly name: string }; created: boolean }>;
    find(namespaceId: string, id: string): Promise<GroupFacts | undefined>;
    findByName(namespaceId: string, name: string): Promise<GroupFacts | undefined>;
    list(
      namespaceId: string,
      by: 'id' | 'name',
      page: Page,
    ): Promise<readonly { id: string; name: string; members: number; parents: number }[]>;
    delete(namespaceId: string, by: { id: string } | { name: string }): Promise<void>;
  };
  readonly groupAliases: {
    create(
      namespaceId: string,
      write: { name?: string; mount?: AliasMountFacts; groupId?: string },
    ): Promise<GroupAliasFacts>;
    update(
      namespaceId: string,
      id: string,
      write: { name?: string; mount?: AliasMountFacts; groupId?: string },
    ): Promise<GroupAliasFacts>;
    find(namespaceId: string, id: string): Promise<GroupAliasFacts | undefined>;
    findByName(mountId: string, name: string): Promise<GroupAliasFacts | undefined>;
    list(namespaceId: string, page: Page): Promise<readonly GroupAliasFacts[]>;
    delete(namespaceId: string, id: string): Promise<void>;
  };
  merge(
    namespaceId: string,
    merge: { toId: string; fromIds: readonly string[]; force: boolean; aliasIdsToKeep: readonly string[] },
  ): Promise<void>;
}
