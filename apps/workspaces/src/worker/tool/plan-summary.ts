import { isDeepStrictEqual } from 'node:util';
import { decimalValue, ExactNumber, parseExact } from '@keystead/envelope';
import { z } from 'zod';
import type { Health } from '../../resources/runs/runs/record-assessment';
import { redact } from '../../resources/runs/runs/redact';
import { dependenciesOf } from './plan-dependencies';
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
