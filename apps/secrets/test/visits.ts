import type { LiveMount } from '../src/kernel/mounts/mount';
import type { Verb } from '../src/sdk/call';
import type { AnyOperation, Path } from '../src/sdk/path';
import { authMethods, secretsEngines } from './auth-methods';
import type { Secrets } from './start-secrets';

/** One verb of one declared path, at a concrete place. */
export interface Visit {
  readonly name: string;
  readonly at: string;
  readonly verb: Verb;
  readonly declared: Path;
  readonly operation: AnyOperation;
}

const uuid = '7b3f4044-0000-4000-8000-000000000000';

/** A concrete path of a pattern, made of names that fit it. */
function concrete(mount: LiveMount, declared: Path): string {
  const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, name: string) => {
    const rule = declared.params[name];
    if (rule === 'uuid') return uuid;
    if (!(rule instanceof RegExp)) return 'visited';
    const words = rule.source.match(/[\w-]+/g) ?? [];
    const fit = ['visited', '1', uuid, ...words].find((text) => rule.test(text));
    if (!fit) throw new Error(`no example fits ${rule} of ${declared.pattern}`);
    return fit;
  });
  return mount.path + below;
}

/** Mounts one of every kind that is not mounted by default. */
export async function mountEveryKind({ root }: Secrets): Promise<void> {
  await root.write('sys/mounts/one', { type: 'kv' }).expect(204);
  await root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
  for (const type of secretsEngines) await root.write(`sys/mounts/${type}`, { type }).expect(204);
  for (const type of authMethods) await root.write(`sys/auth/${type}`, { type }).expect(204);
}

/**
 * Every declared path and verb of every mount, found the way the router finds them: a new backend is visited before its
 * author writes a test.
 */
export function everyVisit({ service }: Secrets): Visit[] {
  return [...service.kernel.mounts.all()].flatMap((mount) =>
    mount.backend.paths.flatMap((declared) =>
      (Object.entries(declared.operations) as [Verb, AnyOperation][]).map(([verb, operation]) => ({
        name: `${verb} ${mount.path}${declared.pattern}`,
        at: concrete(mount, declared),
        verb,
        declared,
        operation,
      })),
    ),
  );
}

/**
 * The text that declares an operation, for slices of a walk: by its path in built-in mounts, by its engine elsewhere.
 */
export function declarationOf({ mount, declared }: { readonly mount: LiveMount; readonly declared: Path }): string {
  const { type } = mount.backend;
  return ['system', 'identity', 'token'].includes(type) ? `'${declared.pattern}'` : `type: '${type}'`;
}

/** The callers that may call an operation. */
export const authOf = ({ declared, operation }: Visit) => operation.auth ?? declared.auth;
