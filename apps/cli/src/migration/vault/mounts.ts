import { same } from './carry';
import { attempt, labelOf, type NamespacePair } from './job';
import type { Data } from './server';

/** A mount that exists on both servers, or would exist on both after a real run. */
export interface CarriedMount {
  /** Ends in a slash. */
  readonly path: string;
  readonly type: string;
  readonly versioned: boolean;
}

interface MountEntry extends Data {
  readonly type?: string;
  readonly accessor?: string;
  readonly config?: Data | null;
  readonly options?: Data | null;
}

/** The types of engines, besides kv, whose content is copied. */
const engineTypes = ['transit', 'pki', 'ssh', 'database', 'kubernetes', 'totp'] as const;
export type EngineType = (typeof engineTypes)[number];

/** The two mount tables: their paths, and the settings that are copied. */
const tables = {
  secret: {
    table: 'sys/mounts',
    kind: 'secrets engine',
    builtIn: ['system', 'identity', 'ns_system', 'ns_identity', 'cubbyhole', 'ns_cubbyhole'],
    types: new Map([['kv', 'kv'], ['generic', 'kv'], ...engineTypes.map((type) => [type, type] as const)]),
  },
  auth: {
    table: 'sys/auth',
    kind: 'auth method',
    builtIn: ['token', 'ns_token'],
    types: new Map(
      ['approle', 'userpass', 'jwt', 'oidc', 'kubernetes', 'ldap', 'cert', 'github', 'aws'].map((type) => [type, type]),
    ),
  },
} as const;

/** Settings that are the same on every mount, or have no effect here. */
const unasked = ['force_no_cache', 'plugin_version', 'user_lockout_config', 'identity_token_key'];

/** Enables the mounts of a namespace here, and returns those whose content will be copied. */
export async function carryMounts(place: NamespacePair, of: keyof typeof tables): Promise<CarriedMount[]> {
  const { table, kind, builtIn, types } = tables[of];
  const { job, from, to, exists } = place;
  const there = await attempt(job, () => from.find(table));
  const here = exists ? ((await to.find(table)) ?? {}) : {};
  const copied: CarriedMount[] = [];
  for (const [path, entry] of Object.entries(there ?? {}) as [string, MountEntry][]) {
    if (!path.endsWith('/') || typeof entry?.type !== 'string') continue;
    const label = labelOf(place, of === 'auth' ? `auth/${path}` : path);
    if ((builtIn as readonly string[]).includes(entry.type)) {
      rename(job, entry, here[path] as MountEntry | undefined);
      continue;
    }
    const type = types.get(entry.type);
    if (!type) {
      job.report.manualStep(`${label}: ${kind}s of type ${entry.type} are not copied`);
      continue;
    }
    const found = here[path] as MountEntry | undefined;
    const versioned = type === 'kv' && String(entry.options?.version ?? '1') === '2';
    const is = { path, type, versioned };
    if (await attempt(job, () => enable(place, { label, table, kind }, is, entry, found), label)) copied.push(is);
  }
  return copied;
}

async function enable(
  place: NamespacePair,
  { label, table, kind }: { label: string; table: string; kind: string },
  { path, type, versioned }: CarriedMount,
  there: MountEntry,
  found: MountEntry | undefined,
): Promise<boolean> {
  const { job, to } = place;
  if (
    found &&
    (found.type !== type || (type === 'kv' && (String(found.options?.version ?? '1') === '2') !== versioned))
  ) {
    const version = type === 'kv' ? ', or of the other version' : '';
    job.report.fail(`${label}: is of type ${found.type} here${version}: nothing of it is copied`);
    return false;
  }
  if (found) job.report.skip(kind);
  const config = Object.fromEntries(
    Object.entries(there.config ?? {}).filter(([name, value]) => !unasked.includes(name) && !same(value, undefined)),
  );
  if (!found && !job.dryRun) {
    await to.write(`${table}/${path.replace(/\/$/, '')}`, {
      type,
      description: there.description ?? '',
      config,
      ...(type === 'kv' ? { options: { version: versioned ? '2' : '1' } } : {}),
      local: there.local ?? false,
    });
  }
  if (!found) job.report.add(kind);
  const target = found ?? (job.dryRun ? undefined : ((await to.find(table))?.[path] as MountEntry | undefined));
  if (!target) return true;
  rename(job, there, target);
  const otherwise = Object.keys(config).filter((name) => !same(config[name], target.config?.[name]));
  if (!same(there.description, target.description)) otherwise.push('description');
  if (otherwise.length > 0) job.report.manualStep(`${label}: not as it is there: ${otherwise.join(', ')}`);
  return true;
}

function rename(job: NamespacePair['job'], there: MountEntry, here: MountEntry | undefined): void {
  if (there.accessor && here?.accessor) job.renamed.set(there.accessor, here.accessor);
}
