import { flag } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Access } from './access';

/** A permission rule: pure and synchronous, so that a page of rows needs no further query. */
export type Rule<T> = (access: Access, target: T) => boolean;

/** Rules by the names that the API shows. The same rule protects the endpoint and fills `permissions`. */
export type Policy<T, Name extends string = string> = Readonly<Record<Name, Rule<T>>>;

/**
 * Declares the rules of a resource: `policy<Team>()({ 'can-destroy': (access, team) => … })`. It is called twice, so
 * that the target is given explicitly and the names are inferred.
 */
export function policy<T>() {
  return <Name extends string>(rules: Record<Name, Rule<T>>): Policy<T, Name> => Object.freeze(rules);
}

/** The results of every rule of a policy for one target: the `permissions` attribute. */
export function abilities<T, Name extends string>(
  rules: Policy<T, Name>,
  access: Access,
  target: T,
): Record<Name, boolean> {
  const result = {} as Record<Name, boolean>;
  for (const name in rules) result[name] = rules[name](access, target);
  return result;
}

/** The shape of `abilities`, for declarations of serializers. */
export function permissions<T, Name extends string>(rules: Policy<T, Name>) {
  const names = Object.keys(rules) as Name[];
  return z.object(Object.fromEntries(names.map((name) => [name, flag])) as Record<Name, typeof flag>);
}
