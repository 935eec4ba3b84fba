import type { Verb } from '../../sdk/call';
import type { ParamRule, Path } from '../../sdk/path';

/** A declared path, ready to be matched. */
export interface Matched {
  readonly path: Path;
  readonly params: Readonly<Record<string, string>>;
}

interface Rest {
  readonly name: string;
  readonly rule: ParamRule;
  /** What must follow the captured part, with its leading slash; empty for nothing. */
  readonly suffix: string;
  readonly path: Path;
}

class Node {
  readonly literals = new Map<string, Node>();
  readonly params: { readonly name: string; readonly rule: ParamRule; readonly next: Node }[] = [];
  readonly rests: Rest[] = [];
  path: Path | undefined;
}

const noParams: Readonly<Record<string, string>> = {};

/**
 * The paths of one backend as a tree of segments, compiled once. A literal segment wins over a parameter, a parameter
 * over a rest; parameters are tried in the order of their declaration, and only where their rule holds.
 */
export class PathTree {
  private readonly root = new Node();
  private readonly literal = new Map<string, Path>();

  constructor(paths: readonly Path[]) {
    for (const path of paths) this.add(path);
  }

  /** The declaration a path below the mount belongs to, whatever its verbs. A list's path ends in `/` or is empty. */
  match(path: string, verb: Verb): Matched | undefined {
    const bare = path.endsWith('/') ? path.slice(0, -1) : path;
    const literal = this.literal.get(bare);
    if (literal) return { path: literal, params: noParams };
    const captured: [string, string][] = [];
    const found = this.descend(this.root, bare, path, verb, captured);
    if (!found) return undefined;
    const params: Record<string, string> = {};
    for (const [name, value] of captured) params[name] = value;
    return { path: found, params };
  }

  private add(path: Path): void {
    if (!path.pattern.includes(':')) this.literal.set(path.pattern, path);
    const segments = path.pattern === '' ? [] : path.pattern.split('/');
    let node = this.root;
    for (const [i, segment] of segments.entries()) {
      if (!segment.startsWith(':')) {
        const next = node.literals.get(segment) ?? new Node();
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
      const next = same?.next ?? new Node();
      if (!same) node.params.push({ name, rule, next });
      node = next;
    }
    node.path = path;
  }

  private descend(node: Node, rest: string, full: string, verb: Verb, captured: [string, string][]): Path | undefined {
    if (rest === '' && node.path) return node.path;
    if (rest !== '') {
      const slash = rest.indexOf('/');
      const segment = slash < 0 ? rest : rest.slice(0, slash);
      const after = slash < 0 ? '' : rest.slice(slash + 1);
      const next = node.literals.get(segment);
      const found = next && this.descend(next, after, full, verb, captured);
      if (found) return found;
      for (const { name, rule, next: below } of node.params) {
        if (!holds(rule, segment)) continue;
        captured.push([name, segment]);
        const path = this.descend(below, after, full, verb, captured);
        if (path) return path;
        captured.pop();
      }
    }
    return this.takeRest(node, rest, full, verb, captured);
  }

  private takeRest(node: Node, rest: string, full: string, verb: Verb, captured: [string, string][]): Path | undefined {
    for (const { name, rule, suffix, path } of node.rests) {
      if (suffix !== '') {
        if (!rest.endsWith(suffix) || rest.length === suffix.length) continue;
        const value = rest.slice(0, -suffix.length);
        if (!holds(rule, value)) continue;
        captured.push([name, value]);
        return path;
      }
      if (!holds(rule, rest)) continue;
      // Only here does a trailing slash mean something: it is part of what was asked for, and lists name folders by it.
      const slash = rest !== '' && full.endsWith('/') ? '/' : '';
      captured.push([name, verb === 'list' && rest !== '' ? `${rest}/` : rest + slash]);
      return path;
    }
    return undefined;
  }
}

const namePattern = /^\w(([\w.-]+)?\w)?$/;
const nameAtPattern = /^\w(([\w.@-]+)?\w)?$/;
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function holds(rule: ParamRule, value: string): boolean {
  switch (rule) {
    case 'any':
      return true;
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
