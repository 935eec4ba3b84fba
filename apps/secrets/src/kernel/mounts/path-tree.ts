import type { Verb } from '../../sdk/call';
import type { Folding, Spelling } from '../../sdk/canonical-path';
import type { ParamRule, Path } from '../../sdk/path';
import { foldName, foldSegments } from './fold';

/** The declared path that a string matches. */
export interface Matched {
  readonly path: Path;
  readonly params: Readonly<Record<string, string>>;
  /** The canonical spelling of the path: the pattern with the parameters filled in, and the slash of a folder. */
  readonly text: string;
  /** Set if part of the path is read in lower case. */
  readonly folding: Folding | undefined;
  /** The folded parameter as it was sent. */
  readonly written: Spelling | undefined;
}

interface Rest {
  readonly name: string;
  readonly rule: ParamRule;
  /** The text that must follow the captured part, with a leading slash; empty if there is none. */
  readonly suffix: string;
  readonly path: Path;
}

class PathNode {
  readonly literals = new Map<string, PathNode>();
  readonly params: { readonly name: string; readonly rule: ParamRule; readonly next: PathNode }[] = [];
  readonly rests: Rest[] = [];
  path: Path | undefined;
}

/** A path on its way down the tree. */
interface Search {
  readonly verb: Verb;
  /** Whether the path ends in a slash, but the request is not a list request. */
  readonly slashed: boolean;
  readonly captured: [string, string][];
  /** Whether the trailing slash is part of the last parameter. */
  keepsSlash: boolean;
}

const noParams: Readonly<Record<string, string>> = {};

/**
 * The paths of one backend as a tree of segments, compiled once. A literal segment takes precedence over a parameter,
 * and a parameter over a rest. Parameters are tried in the order of their declaration, unless their rule excludes the
 * value.
 */
export class PathTree {
  private readonly root = new PathNode();
  private readonly literal = new Map<string, Path>();
  /** Relative to the mount. */
  private readonly foldings = new Map<Path, Folding & { readonly name: string }>();

  constructor(paths: readonly Path[]) {
    for (const path of paths) this.add(path);
  }

  /**
   * The declaration that a path below the mount matches, for any verb. The path of a list request ends in `/` or is
   * empty. With another verb, a trailing slash matches only if it means a folder: in a rest parameter, or if the path
   * has a list operation.
   */
  match(path: string, verb: Verb): Matched | undefined {
    const ends = path.endsWith('/');
    const unslashed = ends ? path.slice(0, -1) : path;
    const slashed = ends && !isListing(verb);
    const literal = this.literal.get(unslashed);
    if (literal && !(slashed && literal.operations.list === undefined)) {
      return {
        path: literal,
        params: noParams,
        text: slashed ? unslashed : path,
        folding: undefined,
        written: undefined,
      };
    }
    const search: Search = { verb, slashed, captured: [], keepsSlash: false };
    const found = this.descend(this.root, unslashed, search);
    if (!found) return undefined;
    const params: Record<string, string> = {};
    for (const [name, value] of search.captured) params[name] = value;
    const text = slashed && !search.keepsSlash ? unslashed : path;
    const folding = this.foldings.get(found);
    if (!folding) return { path: found, params, text, folding, written: undefined };
    const original = params[folding.name]!;
    params[folding.name] = foldName(original, folding.fold);
    return { path: found, params, text: foldSegments(text, folding), folding, written: { shown: original } };
  }

  /** Which part of a declared path is read in lower case. */
  foldingOf(path: Path): Folding | undefined {
    return this.foldings.get(path);
  }

  private add(path: Path): void {
    if (!path.pattern.includes(':')) this.literal.set(path.pattern, path);
    const segments = path.pattern === '' ? [] : path.pattern.split('/');
    this.fold(path, segments);
    let node = this.root;
    for (const [i, segment] of segments.entries()) {
      if (!segment.startsWith(':')) {
        const next = node.literals.get(segment) ?? new PathNode();
        node.literals.set(segment, next);
        node = next;
        continue;
      }
      if (segment.endsWith('*')) {
        const name = segment.slice(1, -1);
        const rest = segments.slice(i + 1);
        const suffix = rest.length === 0 ? '' : `/${rest.join('/')}`;
        node.rests.push({ name, rule: path.params[name] ?? 'any', suffix, path });
        node.rests.sort((a, b) => b.suffix.length - a.suffix.length);
        return;
      }
      const name = segment.slice(1);
      const rule = path.params[name] ?? 'name';
      const same = node.params.find((param) => param.name === name && String(param.rule) === String(rule));
      const next = same?.next ?? new PathNode();
      if (!same) node.params.push({ name, rule, next });
      node = next;
    }
    node.path = path;
  }

  private fold(path: Path, segments: readonly string[]): void {
    for (const [from, segment] of segments.entries()) {
      if (!segment.startsWith(':')) continue;
      const rest = segment.endsWith('*');
      const name = segment.slice(1, rest ? -1 : undefined);
      const fold = path.folds[name] ?? (path.params[name] === 'uuid' ? 'ascii-case' : undefined);
      if (fold === undefined) continue;
      // One range is enough for all declared paths, and keeps policy checks simple.
      if (this.foldings.has(path) || (rest && from + 1 < segments.length)) {
        throw new Error(`${path.pattern} can fold one parameter only, and a rest only at its end`);
      }
      this.foldings.set(path, { name, fold, from, to: rest ? Number.POSITIVE_INFINITY : from + 1 });
    }
  }

  private descend(node: PathNode, rest: string, search: Search): Path | undefined {
    // Without its slash, the path would match this declaration. So with its slash, it must not match a less specific
    // one.
    if (rest === '' && node.path) {
      return search.slashed && node.path.operations.list === undefined ? undefined : node.path;
    }
    if (rest !== '') {
      const slash = rest.indexOf('/');
      const segment = slash < 0 ? rest : rest.slice(0, slash);
      const after = slash < 0 ? '' : rest.slice(slash + 1);
      const next = node.literals.get(segment);
      const found = next && this.descend(next, after, search);
      if (found) return found;
      for (const { name, rule, next: below } of node.params) {
        if (!permits(rule, segment)) continue;
        search.captured.push([name, segment]);
        const path = this.descend(below, after, search);
        if (path) return path;
        search.captured.pop();
      }
    }
    return this.takeRest(node, rest, search);
  }

  private takeRest(node: PathNode, rest: string, search: Search): Path | undefined {
    const { verb, slashed, captured } = search;
    for (const { name, rule, suffix, path } of node.rests) {
      if (suffix !== '') {
        if (!rest.endsWith(suffix) || rest.length === suffix.length) continue;
        // As in `descend`.
        if (slashed) return undefined;
        const value = rest.slice(0, -suffix.length);
        if (!permits(rule, value)) continue;
        captured.push([name, value]);
        return path;
      }
      if (!permits(rule, rest)) continue;
      // Only a rest parameter includes a trailing slash, because lists show folders with a slash.
      search.keepsSlash = slashed && rest !== '' && rule !== 'folder';
      captured.push([name, search.keepsSlash || (isListing(verb) && rest !== '') ? `${rest}/` : rest]);
      return path;
    }
    return undefined;
  }
}

/** A request for the names in a folder, or for everything below it. */
const isListing = (verb: Verb): boolean => verb === 'list' || verb === 'scan';

const namePattern = /^\w(([\w.-]+)?\w)?$/;
const nameAtPattern = /^\w(([\w.@-]+)?\w)?$/;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function permits(rule: ParamRule, value: string): boolean {
  switch (rule) {
    case 'any':
    case 'base64':
      return true;
    case 'folder':
    case 'segment':
      return value !== '';
    case 'name':
      return namePattern.test(value);
    case 'name-at':
      return nameAtPattern.test(value);
    case 'uuid':
      return uuidPattern.test(value);
    default:
      return rule.test(value);
  }
}
