import type { PlanJson, ResourceChange } from '../runs/plan-changes';
import type { StateFile } from '../workspace/state-diff';

/** A resource with all its instances. */
export interface GraphNode {
  readonly address: string;
  readonly module: string;
  readonly dependsOn: readonly string[];
  /** What a plan does to the resource, with a colour. */
  readonly action?: { readonly label: string; readonly tone: string };
}

/** The module part of an address, such as `module.a.module.b`, without instance keys; empty in the root module. */
const moduleOf = (address: string): string => /^(?:module\.[^.]+\.)+/.exec(address)?.[0].slice(0, -1) ?? '';
/** An address without the keys of instances: `module.a["x"].host.web[0]` is `module.a.host.web`. */
export const withoutKeys = (address: string): string => address.replace(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, '');

const nodeOf = (address: string, dependsOn: Iterable<string>): GraphNode => ({
  address,
  module: moduleOf(address),
  dependsOn: [...new Set(dependsOn)].sort(),
});

/** The resources of a state, with the dependencies recorded in the state. */
export function nodesOfState(state: StateFile): GraphNode[] {
  const found = new Map<string, Set<string>>();
  for (const { module, mode, type, name, instances } of state.resources ?? []) {
    const address = `${module === undefined ? '' : `${withoutKeys(module)}.`}${mode === 'data' ? 'data.' : ''}${type}.${name}`;
    const all = found.get(address) ?? new Set();
    for (const { dependencies = [] } of instances) for (const one of dependencies) all.add(one);
    found.set(address, all);
  }
  return [...found].map(([address, all]) =>
    nodeOf(
      address,
      [...all].filter((one) => found.has(one)),
    ),
  );
}

/** The actions by how destructive they are, with their colours. */
const actions: readonly (readonly [ResourceChange['kind'], string, string])[] = [
  ['delete', 'destroy', 'removed'],
  ['replace', 'replace', 'removed'],
  ['update', 'change', 'changed'],
  ['create', 'create', 'added'],
  ['import', 'import', ''],
  ['forget', 'forget', ''],
  ['read', 'read', ''],
];

/** The resources of a plan with its actions, linked by the references in the configuration. */
export function nodesOfPlan(
  { resource_dependencies: dependencies = {} }: PlanJson,
  changes: readonly ResourceChange[],
): GraphNode[] {
  const kinds = new Map<string, Set<ResourceChange['kind']>>();
  for (const { address, kind } of changes) {
    const all = kinds.get(withoutKeys(address)) ?? new Set();
    kinds.set(withoutKeys(address), all.add(kind));
  }
  const addresses = [...new Set([...Object.keys(dependencies), ...kinds.keys()])].sort();
  return addresses.map((address) => {
    const [, label, tone] = actions.find(([kind]) => kinds.get(address)?.has(kind)) ?? [];
    const node = nodeOf(address, Object.hasOwn(dependencies, address) ? dependencies[address]! : []);
    return label === undefined || tone === undefined ? node : { ...node, action: { label, tone } };
  });
}
