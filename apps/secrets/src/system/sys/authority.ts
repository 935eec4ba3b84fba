/** Where a rule was written. */
export interface RulePlaceFacts {
  readonly policy: string;
  readonly namespacePath: string;
  readonly pattern: string;
  readonly line: number;
}

/** A rule as explanations show it. */
export interface RuleFacts {
  readonly pattern: string;
  readonly capabilities: readonly string[];
  readonly places: readonly RulePlaceFacts[];
  readonly mfaMethods: readonly { readonly namespacePath: string; readonly method: string }[];
}

/** What a request would meet. */
export interface Explained {
  readonly allowed: boolean;
  readonly sudo: boolean;
  readonly root: boolean;
  readonly rule?: RuleFacts;
  readonly objection?: string;
  readonly losers: readonly (RuleFacts & { readonly lostBecause: string })[];
}

/** The operations a question can be about. */
export const operationNames = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan'] as const;

/** A token looked at from outside, without using it. */
export interface Holder {
  readonly accessor: string;
  /** Token, entity and group policies together, sorted. */
  readonly policies: readonly string[];
  /** 0 is unlimited. */
  readonly usesLeft: number;
  readonly boundCidrs: readonly string[];
  readonly namespacePath: string;
  /** False for a token whose entity is disabled or gone. */
  readonly entityInForce: boolean;
  /** Names of the login enforcements that a new login of its entity at its mount must meet. */
  loginEnforcements(): Promise<readonly string[]>;
  /** On a path as somebody would send it; read as the request would be. Throws `malformed`. */
  capabilities(namespaceId: string, path: string): string[];
  /** The same for one request. */
  explain(question: {
    readonly namespaceId: string;
    readonly path: string;
    readonly operation: (typeof operationNames)[number];
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly wrapTtlSeconds?: number;
  }): Explained;
}

/** Looks at tokens; undefined for unknown, expired and revoked ones, and for those that a namespace does not see. */
export interface AuthorityPort {
  byToken(namespaceId: string, token: string): Promise<Holder | undefined>;
  byAccessor(namespaceId: string, accessor: string): Promise<Holder | undefined>;
  /** The token a call is made with. */
  byHash(hash: string): Promise<Holder | undefined>;
  /** Whether the path needs sudo besides its capability. */
  needsSudo(namespaceId: string, path: string, operation: (typeof operationNames)[number]): boolean;
  /** The quota that would refuse the request at this moment. */
  quotaInTheWay(
    namespaceId: string,
    path: string,
    operation: (typeof operationNames)[number],
    address: string,
  ): string | undefined;
}
