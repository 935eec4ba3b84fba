import type { AuditedRequest } from '../kernel/audit/audit';
import type { RouteMatch } from '../kernel/routing/route-match';
import type { TokenRecord } from '../kernel/tokens/types';
import type { Bearer } from './authenticate';
import type { Grant } from './authorize';

/**
 * What is known of a request. Each step answers a value that says more than the one it was given; a request that ends early
 * is audited with the last of them.
 */
export interface RequestContext {
  readonly match: RouteMatch | undefined;
  readonly wrapTtlSeconds: number;
  /** Whose token it is, before anything was asked about its rights. */
  readonly token: TokenRecord | undefined;
  readonly bearer: Bearer | undefined;
  readonly grant: Grant | undefined;
  /** What its audit lines say of it, from its request line on; absent where nothing keeps any. */
  readonly entry: AuditedRequest | undefined;
}

/** It is known where the request leads. */
export interface Located extends RequestContext {
  readonly match: RouteMatch;
}

/** Before the first step. */
export const emptyContext: RequestContext = {
  match: undefined,
  wrapTtlSeconds: 0,
  token: undefined,
  bearer: undefined,
  grant: undefined,
  entry: undefined,
};
