import { Refusal } from '@keystead/refusal';
import type { CanonicalPath, Folding, Spelling } from '../../sdk/canonical-path';
import type { AnyOperation, Path, PathAuth } from '../../sdk/path';
import { below } from '../mounts/fold';
import type { LiveMount } from '../mounts/mount';
import { type Namespace, requireUnlocked } from '../namespaces/namespaces';
import type { Question } from '../policy/types';

/** The target of a request: everything that does not depend on the caller. */
export interface RouteMatch {
  readonly namespace: Namespace;
  /** Inside the namespace. */
  readonly path: CanonicalPath;
  /** With the namespace: the path for policies. */
  readonly full: CanonicalPath;
  /** The part of the path below the mount that is read in lower case; patterns are folded, too. */
  readonly folding: Folding | undefined;
  readonly mount: LiveMount | undefined;
  /** Below the mount. */
  readonly below: CanonicalPath;
  /** Undefined if the mount has no such path. */
  readonly declared: Path | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly spelling: Spelling | undefined;
  /** Undefined if the path does not answer this verb. */
  readonly operation: AnyOperation | undefined;
  readonly auth: PathAuth;
}

/** The policy question for a route match. */
export function questionOf(match: RouteMatch): Pick<Question, 'path' | 'folding' | 'freeform' | 'reading'> {
  const { full, folding, namespace, mount, operation } = match;
  return {
    path: full,
    folding: folding && below(folding, namespace.path + mount!.path),
    freeform: operation?.freeform,
    reading: operation?.reading,
  };
}

/** Refuses what no caller may do here. Throws `invalid`, and `unavailable` in a locked namespace. */
export function checkMatch({ declared, namespace, path }: RouteMatch): void {
  if (path !== 'sys/namespaces/api-lock/unlock') requireUnlocked(namespace);
  if (declared?.rootNamespaceOnly && namespace.parentUuid !== undefined) {
    throw new Refusal('invalid', 'operation unavailable in namespaces');
  }
}
