import type {
  ModuleConfiguration,
  PlanDocument,
  PlannedChange,
  ResourceConfiguration,
  StateModule,
  StateResource,
  StateValues,
} from './plan-document';

type ImportTable = Record<string, unknown>;

const resourcesOf = (module: StateModule | undefined): { module: string; resource: StateResource }[] =>
  module === undefined
    ? []
    : [
        ...(module.resources ?? []).map((resource) => ({ module: module.address ?? '', resource })),
        ...(module.child_modules ?? []).flatMap(resourcesOf),
      ];

/** The outputs and resources of a prior or planned state. */
function stateTables(values: StateValues | undefined): { outputs: ImportTable; resources: ImportTable } {
  const outputs = Object.entries(values?.outputs ?? {}).map(([name, { sensitive, value }]) => [
    name,
    { name, sensitive: sensitive === true, value: value ?? null },
  ]);
  const resources = resourcesOf(values?.root_module).map(({ module, resource }) => {
    const { address, mode, type, name, index, provider_name, values: attributes, depends_on, tainted } = resource;
    const deposed = resource.deposed_key ?? '';
    const shown = {
      address,
      depends_on: depends_on ?? [],
      deposed_key: deposed,
      index: index ?? null,
      mode,
      module_address: module,
      name,
      provider_name,
      tainted: tainted === true,
      type,
      values: attributes ?? {},
    };
    return [deposed === '' ? address : `${address}:${deposed}`, shown];
  });
  return { outputs: Object.fromEntries(outputs), resources: Object.fromEntries(resources) };
}

const changeTable = (changes: readonly PlannedChange[] = []): ImportTable =>
  Object.fromEntries(
    changes.map(({ address, module_address, mode, type, name, index, provider_name, deposed = '', change }) => [
      deposed === '' ? address : `${address}:${deposed}`,
      {
        address,
        change: changeOf(change),
        deposed,
        index: index ?? null,
        mode,
        module_address: module_address ?? '',
        name,
        provider_name,
        type,
      },
    ]),
  );

const changeOf = ({ actions, before, after, after_unknown }: PlannedChange['change']) => ({
  actions,
  after: after ?? null,
  after_unknown: after_unknown ?? {},
  before: before ?? null,
});

/** The content of the import `tfplan/v2`. */
export function planImport(plan: PlanDocument): ImportTable {
  const named = <T>(all: Record<string, T> = {}, of: (value: T) => object): ImportTable =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, { name, ...of(value) }]));
  return {
    terraform_version: plan.terraform_version ?? '',
    variables: named(plan.variables, ({ value }) => ({ value: value ?? null })),
    resource_changes: changeTable(plan.resource_changes),
    resource_drift: changeTable(plan.resource_drift),
    output_changes: named(plan.output_changes, (change) => ({ change: changeOf(change) })),
    planned_values: stateTables(plan.planned_values),
    raw: plan,
  };
}

/** The content of the import `tfstate/v2`: the state before the plan. */
export const stateImport = (plan: PlanDocument): ImportTable => ({
  terraform_version: plan.prior_state?.terraform_version ?? plan.terraform_version ?? '',
  ...stateTables(plan.prior_state?.values),
});

/** The content of the import `tfconfig/v2`, without its function. */
export function configurationImport({ configuration }: PlanDocument): ImportTable {
  const tables = {
    providers: new Map<string, object>(),
    resources: new Map<string, object>(),
    provisioners: new Map<string, object>(),
    variables: new Map<string, object>(),
    outputs: new Map<string, object>(),
    module_calls: new Map<string, object>(),
  };
  for (const [key, provider] of Object.entries(configuration?.provider_config ?? {})) {
    tables.providers.set(key, {
      alias: provider.alias ?? '',
      config: provider.expressions ?? {},
      full_name: provider.full_name ?? '',
      module_address: provider.module_address ?? '',
      name: provider.name ?? '',
      provider_config_key: key,
      version_constraint: provider.version_constraint ?? '',
    });
  }
  collect(configuration?.root_module, '', tables);
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, Object.fromEntries(table)]));
}

type Tables = Record<'resources' | 'provisioners' | 'variables' | 'outputs' | 'module_calls', Map<string, object>>;

function collect(module: ModuleConfiguration | undefined, at: string, into: Tables): void {
  const keyOf = (name: string) => (at === '' ? name : `${at}:${name}`);
  for (const resource of module?.resources ?? []) collectResource(resource, at, into);
  for (const [name, variable] of Object.entries(module?.variables ?? {})) {
    const { default: fallback, description } = variable;
    const shown = { default: fallback ?? null, description: description ?? '', module_address: at, name };
    into.variables.set(keyOf(name), shown);
  }
  for (const [name, output] of Object.entries(module?.outputs ?? {})) {
    into.outputs.set(keyOf(name), {
      depends_on: output.depends_on ?? [],
      description: output.description ?? '',
      module_address: at,
      name,
      sensitive: output.sensitive === true,
      value: output.expression ?? {},
    });
  }
  for (const [name, call] of Object.entries(module?.module_calls ?? {})) {
    into.module_calls.set(keyOf(name), {
      config: call.expressions ?? {},
      count: call.count_expression ?? {},
      depends_on: call.depends_on ?? [],
      for_each: call.for_each_expression ?? {},
      module_address: at,
      name,
      source: call.source ?? '',
      version_constraint: call.version_constraint ?? '',
    });
    collect(call.module, `${at === '' ? '' : `${at}.`}module.${name}`, into);
  }
}

function collectResource(resource: ResourceConfiguration, at: string, into: Tables): void {
  // The tool's address is relative to the module.
  const address = at === '' ? resource.address : `${at}.${resource.address}`;
  const provisioners = (resource.provisioners ?? []).map(({ type, expressions }, index) => ({
    config: expressions ?? {},
    index,
    resource_address: address,
    type,
  }));
  for (const one of provisioners) into.provisioners.set(`${address}:${one.index}`, one);
  into.resources.set(address, {
    address,
    config: resource.expressions ?? {},
    count: resource.count_expression ?? {},
    depends_on: resource.depends_on ?? [],
    for_each: resource.for_each_expression ?? {},
    mode: resource.mode,
    module_address: at,
    name: resource.name,
    provider_config_key: resource.provider_config_key ?? '',
    provisioners,
    type: resource.type,
  });
}
