import { parseExact } from '@keystead/envelope';
import { z } from 'zod';
import { mostRequirements, Requirement } from '../../resources/runs/runs/requirements';

const Installed = z.looseObject({
  Modules: z.array(
    z.looseObject({
      Key: z.string(),
      Source: z.string().default(''),
      Version: z.string().default(''),
      Dir: z.string().default(''),
    }),
  ),
});

/** A module call as the tool lists it after `init`. */
export interface ModuleCall {
  /** The path of the call: `network.subnets` is the call `subnets` in the module of the call `network`. */
  readonly key: string;
  /** The source with its host and without a folder. */
  readonly source: string;
  /** The version; empty unless the module is from a registry. */
  readonly version: string;
  /** Where its files are, relative to the folder of the configuration. */
  readonly folder: string;
}

/** The module calls in the tool's list; empty if it cannot be read. */
export const callsIn = (modules: Buffer | undefined): ModuleCall[] =>
  (Installed.safeParse(parsed(modules)).data?.Modules ?? []).map(({ Key, Source, Version, Dir }) => ({
    key: Key,
    source: Source.split('//')[0] ?? '',
    version: Version,
    folder: Dir,
  }));

interface Called {
  readonly module_calls?: Readonly<Record<string, { readonly version_constraint?: string; readonly module?: unknown }>>;
}
const Calls: z.ZodType<Called> = z.looseObject({
  module_calls: z
    .record(z.string(), z.looseObject({ version_constraint: z.string().optional(), module: z.unknown().optional() }))
    .optional(),
});
const Configuration = z.looseObject({
  configuration: z.looseObject({ root_module: z.unknown().optional() }).optional(),
});

/**
 * The version constraint of each module call in a configuration, by the tool's name for the call: `network.subnets`.
 */
function constraintsOf(plan: unknown): Map<string, string> {
  const found = new Map<string, string>();
  const remaining: [prefix: string, module: unknown][] = [
    ['', Configuration.safeParse(plan).data?.configuration?.root_module],
  ];
  for (let at = remaining.pop(); at !== undefined; at = remaining.pop()) {
    const [prefix, module] = at;
    for (const [name, call] of Object.entries(Calls.safeParse(module).data?.module_calls ?? {})) {
      found.set(`${prefix}${name}`, call.version_constraint ?? '');
      remaining.push([`${prefix}${name}.`, call.module]);
    }
  }
  return found;
}

function parsed(json: Buffer | undefined): unknown {
  try {
    return parseExact(json?.toString('utf8') ?? '');
  } catch {
    return undefined;
  }
}

const attributeOf = (block: string, name: string): string =>
  new RegExp(`^\\s*${name}\\s*=\\s*"([^"\\n]*)"`, 'm').exec(block)?.[1] ?? '';

/** The providers in a lock file, which the tool itself has written. */
function lockedIn(lock: Buffer | undefined): Requirement[] {
  const blocks = (lock?.toString('utf8') ?? '').split(/^provider /m).slice(1);
  return blocks.map((block) => ({
    kind: 'provider',
    source: /^"([^"\n]*)"/.exec(block)?.[1] ?? '',
    version: attributeOf(block, 'version'),
    constraint: attributeOf(block, 'constraints'),
  }));
}

/**
 * The registry modules and providers that `init` installed, with the constraints of the configuration: from the tool's
 * list of installed modules, its lock file, and the plan. Unexpected content is ignored, because a plan must not fail
 * because of it.
 */
export function requirementsOf(
  plan: unknown,
  { modules, lock }: { readonly modules: Buffer | undefined; readonly lock: Buffer | undefined },
): Requirement[] {
  const constraints = constraintsOf(plan);
  const called = callsIn(modules)
    .filter(({ version }) => version !== '')
    .map(({ key, source, version }): Requirement => {
      return { kind: 'module', source, version, constraint: constraints.get(key) ?? '' };
    });
  const all = [...called, ...lockedIn(lock)].filter((one) => Requirement.safeParse(one).success);
  const once = new Map(all.map((one) => [JSON.stringify(one), one]));
  return [...once.values()].slice(0, mostRequirements);
}
