import { Refusal } from '@keystead/refusal';
import { Globs } from '../../sdk/globs';
import type { TokenRole } from './role';

/** The data that decides about the policies of a new token. */
export interface PolicyWish {
  /** The requested policies; empty if there are none. */
  readonly requested: readonly string[];
  /** The parent's policies; undefined if they belong to another namespace, where the same names mean other policies. */
  readonly parent: readonly string[] | undefined;
  readonly sudo: boolean;
  readonly noDefault: boolean;
  readonly role: TokenRole | undefined;
}

const internal = new Set(['response-wrapping', 'control-group']);

/**
 * The policies of a new token. With a role: the policies that the role allows. Without: a subset of its parent's
 * policies. A parent from another namespace passes on no policies, so the token gets only the requested policies.
 * Throws `invalid`.
 */
export function newTokenPolicies(request: PolicyWish): string[] {
  const requested = clean(request.requested);
  for (const name of requested) {
    if (internal.has(name)) throw new Refusal('invalid', `cannot assign policy "${name}"`);
  }
  const { role } = request;
  const names = role && restricts(role) ? fromRole(request, requested, role) : fromParent(request, requested);
  if (request.noDefault) names.delete('default');
  return names.has('root') ? ['root'] : [...names].sort();
}

function fromParent(request: PolicyWish, requested: readonly string[]): Set<string> {
  if (request.parent === undefined) return new Set([...requested, 'default']);
  const parent = clean(request.parent);
  if (requested.length === 0) return new Set(parent);
  if (request.sudo) return new Set([...requested, 'default']);
  const parentPolicies = new Set(parent);
  if (!requested.every((name) => parentPolicies.has(name))) {
    throw new Refusal('invalid', 'child policies must be subset of parent');
  }
  return new Set(parentPolicies.has('default') ? [...requested, 'default'] : requested);
}

function fromRole(request: PolicyWish, requested: readonly string[], role: TokenRole): Set<string> {
  const compare = new Globs();
  const disallowed = new Set(clean(role.disallowed_policies));
  const disallowedGlobs = clean(role.disallowed_policies_glob);
  const forbids = (name: string) => disallowed.has(name) || disallowedGlobs.some((glob) => compare.fits(glob, name));
  const addDefault = !request.noDefault && !forbids('default');
  const allowed = clean(role.allowed_policies);
  const globs = clean(role.allowed_policies_glob);
  let names: Set<string>;
  if (allowed.length > 0 || globs.length > 0) {
    const all = new Set(addDefault ? [...allowed, 'default'] : allowed);
    names = new Set(requested.length === 0 ? all : addDefault ? [...requested, 'default'] : requested);
    for (const name of names) {
      if (all.has(name) || globs.some((glob) => compare.fits(glob, name))) continue;
      throw new Refusal(
        'invalid',
        `token policies (${quoted([...names].sort())}) must be subset of the role's allowed policies (${quoted([...all].sort())}) or glob policies (${quoted(globs)})`,
      );
    }
  } else {
    names = new Set(requested.length === 0 ? clean(request.parent ?? []) : requested);
    if (addDefault) names.add('default');
  }
  for (const name of names) {
    if (forbids(name)) throw new Refusal('invalid', `token policy "${name}" is disallowed by this role`);
  }
  return names;
}

function restricts(role: TokenRole): boolean {
  return (
    role.allowed_policies.length > 0 ||
    role.disallowed_policies.length > 0 ||
    role.allowed_policies_glob.length > 0 ||
    role.disallowed_policies_glob.length > 0
  );
}

function clean(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.trim().toLowerCase()).filter((name) => name !== ''))];
}

function quoted(names: readonly string[]): string {
  return `[${names.map((name) => JSON.stringify(name)).join(' ')}]`;
}
