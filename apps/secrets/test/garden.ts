import { generateKeyPairSync } from 'node:crypto';
import type { FuzzExample } from '@keystead/testing';
import { examples, type World } from './at-once-examples';
import { authMethods } from './auth-methods';

/** The number of names, so that the number of objects is limited. */
const names = 300;
const perTurn = 8;
const methods: Readonly<Record<string, string>> = { write: 'POST', patch: 'PATCH', delete: 'DELETE' };
const mounts: Readonly<Record<string, string>> = {
  'kubernetes-accounts': 'kubernetes',
  system: 'sys',
  kv: 'two',
  token: 'auth/token',
  ...Object.fromEntries([...authMethods, 'cloudone'].map((type) => [type, `auth/${type}`])),
};

type Named = readonly [operation: string, template: string, example: (typeof examples)[string]];

/** The operation in the document for an example: `write kv/data/:path*` is `POST /two/data/{path}`. */
function named([name, example]: [string, (typeof examples)[string]]): Named {
  const [, verb, type, pattern] = /^(\w+) ([\w-]+)\/(.*)$/.exec(name)!;
  const mount = name.includes('kv/:path*') ? 'one' : (mounts[type!] ?? type);
  const template = `/${mount}/${pattern!.replace(/:(\w+)\*?/g, '{$1}')}`;
  return [`${methods[verb!]} ${template}`, template, example];
}

/** Objects that are created repeatedly while other requests remove them, and valid requests for them. */
export function gardenOf(
  { root, as }: Pick<World, 'root' | 'as'>,
  scheduler: { address: string; management: string },
): () => Promise<readonly FuzzExample[]> {
  const all = Object.entries(examples).map(named);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let made = 0;
  const world: World = {
    root,
    as,
    fresh: () => `thing${++made % names}`,
    schedulerAddress: scheduler.address,
    schedulerToken: scheduler.management,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
  let next = 0;
  return async () => {
    const told: FuzzExample[] = [];
    for (let i = 0; i < (next === 0 ? all.length : perTurn); i++) {
      const [operation, template, making] = all[next++ % all.length]!;
      if (typeof making !== 'function') continue;
      // Other requests remove the objects of an example, sometimes before they are complete.
      const example = await Promise.resolve(making(world)).catch(() => undefined);
      if (example === undefined) continue;
      const path = template.replace(/\{(\w+)\}/g, (_all, name: string) => example.at?.[name] ?? 'x');
      told.push({ operation, path, body: example.body?.(next) });
    }
    return told;
  };
}
