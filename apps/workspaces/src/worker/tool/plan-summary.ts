import { isDeepStrictEqual } from 'node:util';
import { decimalValue, ExactNumber, parseExact } from '@keystead/envelope';
import { z } from 'zod';
import type { Health } from '../../resources/runs/runs/record-assessment';
import { redact } from '../../resources/runs/runs/redact';
import type { ProviderSchemas, WantedSchemas } from './provider-schemas';

const Change = z.looseObject({
  actions: z.array(z.string()),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
  before_sensitive: z.unknown().optional(),
  after_sensitive: z.unknown().optional(),
  importing: z.unknown().optional(),
});
const ResourceChange = z.looseObject({ mode: z.string(), type: z.string(), provider_name: z.string(), change: Change });
const Resources = z.looseObject({
  resources: z.array(z.looseObject({ mode: z.string(), address: z.string() })).optional(),
  child_modules: z.array(z.unknown()).optional(),
});
const Check = z.looseObject({
  status: z.string(),
  instances: z.array(z.looseObject({ status: z.string() })).optional(),
});
const Plan = z.looseObject({
  format_version: z.string(),
  resource_changes: z.array(ResourceChange).optional(),
  resource_drift: z.array(ResourceChange).optional(),
  checks: z.array(Check).optional(),
  prior_state: z.looseObject({ values: z.looseObject({ root_module: z.unknown().optional() }).optional() }).optional(),
  output_changes: z.record(z.string(), Change).optional(),
});

/** The parts of the tool's JSON plan that this service reads. */
export type PlanDocument = z.infer<typeof Plan>;

/** Reads the output of `show -json`. */
export function parsePlan(json: Buffer): PlanDocument {
  return Plan.parse(parseExact(json.toString('utf8')));
}

/**
 * The numbers of resources that a plan adds, changes, destroys and imports. As in the tool, a replacement is both added
 * and destroyed.
 */
export function countChanges(plan: PlanDocument) {
  const counts = { additions: 0, changes: 0, destructions: 0, imports: 0 };
  for (const { mode, change } of plan.resource_changes ?? []) {
    if (mode !== 'managed') continue;
    if (change.actions.includes('create')) counts.additions++;
    if (change.actions.includes('update')) counts.changes++;
    if (change.actions.includes('delete')) counts.destructions++;
    if (change.importing) counts.imports++;
  }
  return counts;
}

/**
 * A value without differences that providers ignore: null, empty strings, lists and maps are equal, and so are
 * spellings of a number.
 */
function settled(value: unknown): unknown {
  if (value === null || value === '') return undefined;
  if (typeof value === 'number' || value instanceof ExactNumber) return new ExactNumber(decimalValue(String(value)));
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(settled);
  const entries = Object.entries(value).flatMap(([key, one]) => {
    const of = settled(one);
    return of === undefined ? [] : [[key, of] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const hasDrifted = ({ actions, before, after }: z.infer<typeof Change>): boolean =>
  actions.includes('delete') ||
  (!actions.every((action) => action === 'no-op') && !isDeepStrictEqual(settled(before), settled(after)));

/** The addresses of the managed resources of a module and of the modules below it. */
function managedIn(module: unknown): string[] {
  const found: string[] = [];
  const remaining = [module];
  while (remaining.length > 0) {
    const { data } = Resources.safeParse(remaining.pop());
    for (const { mode, address } of data?.resources ?? []) if (mode === 'managed') found.push(address);
    remaining.push(...(data?.child_modules ?? []));
  }
  return found;
}

/**
 * The health of the infrastructure in a refresh-only plan: resources that have changed or no longer exist, and the
 * result of each check.
 */
export function healthOf(plan: PlanDocument): Health {
  const drifted = new Set<unknown>();
  for (const { mode, change, address } of plan.resource_drift ?? []) {
    if (mode === 'managed' && hasDrifted(change)) drifted.add(address);
  }
  const undrifted = managedIn(plan.prior_state?.values?.root_module).filter((address) => !drifted.has(address));
  const statuses = (plan.checks ?? []).flatMap(({ status, instances }) =>
    instances?.length ? instances.map((one) => one.status) : [status],
  );
  const count = (name: string) => statuses.filter((status) => status === name).length;
  return {
    resourcesDrifted: drifted.size,
    resourcesUndrifted: undrifted.length,
    checksPassed: count('pass'),
    checksFailed: count('fail'),
    checksErrored: count('error'),
    checksUnknown: count('unknown'),
  };
}

function redactChange<T extends z.infer<typeof Change>>(change: T): T {
  return {
    ...change,
    before: redact(change.before, change.before_sensitive),
    after: redact(change.after, change.after_sensitive),
  };
}

/** The schemas needed to render a plan. */
export function wantedSchemas(plan: PlanDocument): WantedSchemas {
  const all = [...(plan.resource_changes ?? []), ...(plan.resource_drift ?? [])];
  return {
    providers: new Set(all.map(({ provider_name }) => provider_name)),
    types: new Set(all.map(({ type }) => type)),
  };
}

/**
 * The form in which the tool renders the plan of a remote run: changes without sensitive values, and the schemas of
 * their resource types. From the configuration it contains only the references between resources. Variables and the
 * prior state are omitted.
 */
export function redactPlan(plan: PlanDocument, schemas: ProviderSchemas): object {
  const resources = (list: PlanDocument['resource_changes'] = []) =>
    list.map((resource) => ({ ...resource, change: redactChange(resource.change) }));
  const [changes, drift] = [resources(plan.resource_changes), resources(plan.resource_drift)];
  const { providers, types } = wantedSchemas(plan);
  const outputs = Object.entries(plan.output_changes ?? {});
  return {
    plan_format_version: plan.format_version,
    resource_changes: changes,
    resource_drift: drift,
    output_changes: Object.fromEntries(outputs.map(([name, change]) => [name, redactChange(change)])),
    relevant_attributes: plan.relevant_attributes ?? [],
    resource_dependencies: dependenciesOf(plan.configuration),
    provider_format_version: schemas.format_version,
    provider_schemas: Object.fromEntries(
      Object.entries(schemas.provider_schemas)
        .filter(([name]) => providers.has(name))
        .map(([name, schema]) => [name, onlyTypes(schema, types)]),
    ),
  };
}

/** Cached schemas may cover more types than one plan has. */
function onlyTypes(
  { provider, resource_schemas, data_source_schemas }: ProviderSchemas['provider_schemas'][string],
  types: ReadonlySet<string>,
): object {
  const withTypes = (of: object) => Object.fromEntries(Object.entries(of).filter(([type]) => types.has(type)));
  return {
    provider,
    resource_schemas: withTypes(resource_schemas),
    data_source_schemas: withTypes(data_source_schemas),
  };
}

/** The summary in the last lines of an apply, as text or as JSON; undefined if there is none. */
export function countApplied(log: string) {
  const pattern =
    /(?:Apply|Destroy) complete! Resources: (?:(\d+) imported, )?(?:(\d+) added, (\d+) changed, )?(\d+) destroyed/g;
  const counts = [...log.matchAll(pattern)].at(-1);
  if (!counts) return undefined;
  const [imports, additions, changes, destructions] = counts.slice(1).map((count) => Number(count ?? 0));
  return { imports, additions, changes, destructions };
}

const Expression = z.looseObject({ references: z.array(z.string()).optional() });
interface ConfiguredModule {
  readonly resources?: readonly {
    readonly mode: string;
    readonly type: string;
    readonly name: string;
    readonly expressions?: unknown;
    readonly count_expression?: unknown;
    readonly for_each_expression?: unknown;
    readonly depends_on?: readonly string[] | undefined;
  }[];
  readonly outputs?: Readonly<
    Record<string, { readonly expression?: unknown; readonly depends_on?: readonly string[] | undefined }>
  >;
  readonly module_calls?: Readonly<Record<string, { readonly expressions?: unknown; readonly module?: unknown }>>;
}
const dependsOn = z.array(z.string()).optional();
const Configured: z.ZodType<ConfiguredModule> = z.looseObject({
  resources: z
    .array(
      z.looseObject({
        mode: z.string(),
        type: z.string(),
        name: z.string(),
        expressions: z.unknown().optional(),
        count_expression: z.unknown().optional(),
        for_each_expression: z.unknown().optional(),
        depends_on: dependsOn,
      }),
    )
    .optional(),
  outputs: z
    .record(z.string(), z.looseObject({ expression: z.unknown().optional(), depends_on: dependsOn }))
    .optional(),
  module_calls: z
    .record(z.string(), z.looseObject({ expressions: z.unknown().optional(), module: z.unknown().optional() }))
    .optional(),
});

/** A module of the configuration, its address, and the call that it comes from. */
interface Placed {
  readonly at: string;
  readonly module: ConfiguredModule;
  readonly parent?: Placed;
  /** The inputs that the call passes. */
  readonly inputs?: unknown;
  readonly children: Map<string, Placed>;
}

function place(value: unknown, at: string, parent?: Placed, inputs?: unknown): Placed {
  const placed: Placed = {
    at,
    // Unexpected parts of the tool's output are left out, because a plan must not fail because of its graph.
    module: Configured.safeParse(value).data ?? {},
    ...(parent ? { parent, inputs } : {}),
    children: new Map(),
  };
  for (const [name, call] of Object.entries(placed.module.module_calls ?? {})) {
    placed.children.set(name, place(call.module, `${at}module.${name}.`, placed, call.expressions));
  }
  return placed;
}

/** All references in an expression, nested ones included. */
function referencesIn(expression: unknown): string[] {
  if (typeof expression !== 'object' || expression === null) return [];
  const own = Expression.safeParse(expression);
  const nested = Object.entries(expression).flatMap(([key, value]) =>
    key === 'references' ? [] : referencesIn(value),
  );
  return [...(own.success ? (own.data.references ?? []) : []), ...nested];
}

const addressOf = ({ mode, type, name }: { mode: string; type: string; name: string }): string =>
  `${mode === 'data' ? 'data.' : ''}${type}.${name}`;

/**
 * The resources that each resource of a configuration refers to, by their addresses without instances. References go
 * through variables and outputs of modules, but not through local values, which the tool does not describe. Contains no
 * values.
 */
export function dependenciesOf(configuration: unknown): Record<string, string[]> {
  const root = place((configuration as { root_module?: unknown } | undefined)?.root_module, '');
  const dependencies = new Map<string, readonly string[]>();

  function resolve(placed: Placed, reference: string): readonly string[] {
    const key = `${placed.at} ${reference}`;
    const before = dependencies.get(key);
    if (before !== undefined) return before;
    // Circular references add nothing.
    dependencies.set(key, []);
    const found = [...new Set(look(placed, reference.split(/[.[]/)))];
    dependencies.set(key, found);
    return found;
  }
  const all = (placed: Placed, references: readonly string[]) => references.flatMap((one) => resolve(placed, one));

  function look(placed: Placed, [first = '', second = '', third = '']: readonly string[]): readonly string[] {
    if (first === 'var') {
      const value = (placed.inputs as Record<string, unknown> | undefined)?.[second];
      return placed.parent ? all(placed.parent, referencesIn(value)) : [];
    }
    if (first === 'module') {
      const child = placed.children.get(second);
      const output = child?.module.outputs?.[third];
      return child && output ? all(child, [...referencesIn(output.expression), ...(output.depends_on ?? [])]) : [];
    }
    const address = first === 'data' ? `data.${second}.${third}` : `${first}.${second}`;
    const isResource = placed.module.resources?.some((one) => addressOf(one) === address);
    return isResource ? [placed.at + address] : [];
  }

  const found: Record<string, string[]> = {};
  function visit(placed: Placed): void {
    for (const resource of placed.module.resources ?? []) {
      const { expressions, count_expression: count, for_each_expression: each, depends_on: explicit } = resource;
      const references = [...referencesIn([expressions, count, each]), ...(explicit ?? [])];
      const address = placed.at + addressOf(resource);
      found[address] = [...new Set(all(placed, references))].filter((one) => one !== address).sort();
    }
    for (const child of placed.children.values()) visit(child);
  }
  visit(root);
  return found;
}
