import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';

/** A parsed path of a key/value engine: the engine's version, and the path within it. */
export interface KvPath {
  readonly versioned: boolean;
  /** The path of the engine, without a trailing slash. */
  readonly mount: string;
  /** The path within the engine. */
  readonly key: string;
  /** The path of a request: below `data`, `metadata` and so on if the engine has versions. */
  at(part: string): string;
}

/** Asks the service where a path leads. Throws `Problem` if it leads to no engine that the caller may see. */
export async function findKvPath(context: Context, path: string, mount?: string): Promise<KvPath> {
  const { client } = context;
  const whole = (mount ? `${trim(mount)}/${trim(path)}` : trim(path)).replace(/\/$/, '');
  const fullPath = mount ? trim(mount) : whole;
  const { body } = await client.get(`sys/internal/ui/mounts/${fullPath}`, { unwrapped: true }).catch(async (error) => {
    throw (await noMountAt(context, fullPath)) ?? error;
  });
  const options = body?.data?.options as { version?: string } | null | undefined;
  const found = trim(String(body?.data?.path ?? ''));
  const base = within(whole, found) ? found : undefined;
  if (base === undefined) throw new Problem(`no key/value engine is mounted at ${path}`, exitCodes.refused);
  const key = whole.slice(base.length).replace(/^\//, '');
  const versioned = options?.version === '2';
  return {
    versioned,
    mount: base,
    key,
    at: (part) => [base, ...(versioned ? [part] : []), ...(key ? [key] : [])].join('/'),
  };
}

/**
 * The problem to report if no engine is mounted at a path, because the service itself answers only 403. Undefined if
 * there is an engine, or if the caller may not list engines.
 */
async function noMountAt({ client }: Context, path: string): Promise<Problem | undefined> {
  const { status, body } = await client.get('sys/mounts', { unwrapped: true, accept: [403] });
  if (status !== 200 || Object.keys(body?.data ?? {}).some((mount) => within(path, trim(mount)))) return undefined;
  const first = path.split('/')[0]!;
  return new Problem(
    `no secrets engine is mounted at ${first}/: keystead secrets enable -path=${first} -version=2 kv`,
    exitCodes.refused,
  );
}

/** Like `findKvPath`, but refuses engines without versions. */
export async function findVersioned(context: Context, path: string, mount?: string): Promise<KvPath> {
  const found = await findKvPath(context, path, mount);
  if (found.versioned) return found;
  throw new Problem(
    `${found.mount} has no versions: run keystead kv enable-versioning ${found.mount}`,
    exitCodes.refused,
  );
}

const within = (path: string, mount: string): boolean => path === mount || path.startsWith(`${mount}/`);

const trim = (path: string): string => path.replace(/^\/+/, '').replace(/\/+$/, '');
