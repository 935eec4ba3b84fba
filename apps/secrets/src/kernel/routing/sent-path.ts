import { isRefusal, Refusal } from '@keystead/refusal';
import type { Verb } from '../../sdk/call';
import type { CanonicalPath, Folding, Spelling } from '../../sdk/canonical-path';
import type { AnyOperation, Path, PathAuth } from '../../sdk/path';
import { pathProblem, simplify } from '../../sdk/path-text';
import { below } from '../mounts/fold';
import type { LiveMount } from '../mounts/mount';
import type { Mounts } from '../mounts/mounts';
import type { Matched, PathTree } from '../mounts/path-tree';
import { type Namespace, type Namespaces, requireUnlocked } from '../namespaces/namespaces';
import type { Question } from '../policy/types';

/** Longer paths are refused before they are parsed. */
export const maxPathLength = 4096;

const noParams: Readonly<Record<string, string>> = {};

/**
 * A path as sent: below `/v1/`, decoded, without dot segments and doubled slashes. Its text is parsed only in this
 * class. All later steps see its `RouteMatch` with the canonical path.
 */
export class SentPath {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /**
   * Takes a decoded path. `detour` is its simplest form, if the path is not in that form. Throws `malformed` for
   * invisible characters, as Vault and OpenBao do, and for paths that are too long.
   */
  static read(text: string): SentPath | { readonly detour: readonly string[] } {
    if (text.length > maxPathLength) throw new Refusal('malformed', `path is longer than ${maxPathLength} characters`);
    const problem = pathProblem(text);
    if (problem === 'unseen') throw new Refusal('malformed', '');
    return problem === undefined ? new SentPath(text) : { detour: simplify(text) };
  }

  /**
   * Like `read`, for a path that is not canonical because it ends in base64. The base64 is rewritten as base64url
   * without slashes. Undefined for all other paths.
   */
  static readBase64(text: string, namespaces: Namespaces, mounts: Mounts): SentPath | undefined {
    const simple = new SentPath(simplify(text).join('/'));
    const { declared, params } = simple.locate(namespaces, mounts, 'read', '');
    const rest = Object.entries(declared?.params ?? {}).find(([, rule]) => rule === 'base64')?.[0];
    if (rest === undefined) return undefined;
    const before = simple.#text.slice(0, simple.#text.length - params[rest]!.length);
    const inBase64 = text.startsWith(before) ? text.slice(before.length) : '';
    if (!/^[A-Za-z0-9+/=_-]+$/.test(inBase64)) return undefined;
    return new SentPath(before + inBase64.replaceAll('/', '_').replaceAll('+', '-'));
  }

  /**
   * Like `read`, for a path in a field. A leading slash is ignored, and dot segments are resolved. Throws `invalid`.
   */
  static ofField(text: string, field: string): SentPath {
    try {
      const read = SentPath.read(text.replace(/^\/+/, ''));
      return read instanceof SentPath ? read : new SentPath(read.detour.join('/'));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const message = error.message === '' ? 'a path holds a character that cannot be seen' : error.message;
      throw new Refusal('invalid', message, [{ path: [field], message }]);
    }
  }

  /** Whether the path as sent is this text, for decisions before namespaces and mounts are loaded. */
  is(text: string): boolean {
    return this.#text === text;
  }

  /** The path for the audit line of a request that was refused before its route was known. */
  get unplaced(): string {
    return this.#text;
  }

  /**
   * The mount, path and operation that it refers to. If they are not found, the request is refused later, after the
   * caller's permissions are known. Throws `malformed` for a write with a trailing slash, `missing` for an unknown
   * namespace.
   */
  locate(namespaces: Namespaces, mounts: Mounts, verb: Verb, header: string): RouteMatch {
    const text = this.textFor(verb);
    if (verb === 'write' && text.endsWith('/')) throw new Refusal('malformed', "cannot write to a path ending in '/'");
    const { namespace, path: rest } = namespaces.resolve(header, text);
    const resolved = mounts.resolve(namespace.uuid, rest);
    const mount = resolved?.mount.tainted ? undefined : resolved?.mount;
    const matched = mount?.tree.match(resolved!.path, verb);
    if (!mount || !matched) {
      return {
        namespace,
        path: rest as CanonicalPath,
        full: (namespace.path + rest) as CanonicalPath,
        folding: undefined,
        mount,
        below: (mount ? resolved!.path : '') as CanonicalPath,
        declared: undefined,
        params: noParams,
        spelling: undefined,
        operation: undefined,
        auth: 'token',
      };
    }
    const { path: declared, text: below, folding } = matched;
    // Nearly always nothing changes, and no string is built.
    const same = below === resolved!.path && rest.length === mount.path.length + below.length;
    const path = same ? rest : mount.path + below;
    const operation = declared.operations[verb];
    return {
      namespace,
      path: path as CanonicalPath,
      full: (namespace.path + path) as CanonicalPath,
      folding,
      mount,
      below: below as CanonicalPath,
      declared,
      params: matched.params,
      spelling: matched.written,
      operation,
      auth: operation?.auth ?? declared.auth,
    };
  }

  /** The declaration of a system path that works without mounts and namespaces. */
  locateSystem(tree: PathTree, verb: Verb): (Matched & { readonly text: CanonicalPath }) | undefined {
    const text = this.textFor(verb);
    if (!text.startsWith('sys/')) return undefined;
    return tree.match(text.slice('sys/'.length), verb) as (Matched & { readonly text: CanonicalPath }) | undefined;
  }

  private textFor(verb: Verb): string {
    return (verb === 'list' || verb === 'scan') && !this.#text.endsWith('/') ? `${this.#text}/` : this.#text;
  }
}

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

/** Refuses requests that no caller may send here. Throws `invalid`, and `unavailable` in a locked namespace. */
export function checkMatch({ declared, namespace, path }: RouteMatch): void {
  if (path !== 'sys/namespaces/api-lock/unlock') requireUnlocked(namespace);
  if (declared?.rootNamespaceOnly && namespace.parentUuid !== undefined) {
    throw new Refusal('invalid', 'operation unavailable in namespaces');
  }
}
