import { type AttributeChange, differencesOf } from '../runs/plan-changes';

/** The parts of a state file that are compared. */
export interface StateFile {
  readonly serial: number;
  readonly terraform_version: string;
  readonly outputs?: Readonly<Record<string, { readonly value: unknown; readonly sensitive?: boolean }>>;
  readonly resources?: readonly {
    readonly module?: string;
    readonly mode: string;
    readonly type: string;
    readonly name: string;
    readonly instances: readonly {
      readonly index_key?: string | number;
      readonly attributes?: unknown;
      /** The paths of sensitive attributes; each path is a list of steps. */
      readonly sensitive_attributes?: readonly (readonly { readonly type: string; readonly value: unknown }[])[];
      /** Addresses without instances. */
      readonly dependencies?: readonly string[];
    }[];
  }[];
}

export interface StateDifference {
  readonly address: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly attributes: readonly AttributeChange[];
}

/** One instance of a resource. */
export interface Instance {
  readonly attributes: unknown;
  /** Names of attributes that are sensitive, or contain something sensitive. */
  readonly sensitive: readonly string[];
}

/** The instances of a state by address, and its outputs. */
export function instancesOf(state: StateFile): Map<string, Instance> {
  const found = new Map<string, Instance>();
  for (const { module, mode, type, name, instances } of state.resources ?? []) {
    for (const { index_key: index, attributes, sensitive_attributes: paths = [] } of instances) {
      const key = index === undefined ? '' : `[${JSON.stringify(index)}]`;
      const address = `${module === undefined ? '' : `${module}.`}${mode === 'data' ? 'data.' : ''}${type}.${name}${key}`;
      const sensitive = paths.flatMap(([first]) => (first === undefined ? [] : [String(first.value)]));
      found.set(address, { attributes, sensitive });
    }
  }
  for (const [name, { value }] of Object.entries(state.outputs ?? {})) {
    found.set(`output.${name}`, { attributes: { value }, sensitive: [] });
  }
  return found;
}

/** The differences between two states, by address. */
export function compareStates(older: StateFile, newer: StateFile): StateDifference[] {
  const before = instancesOf(older);
  const after = instancesOf(newer);
  const addresses = [...new Set([...before.keys(), ...after.keys()])].sort();
  return addresses.flatMap((address): StateDifference[] => {
    if (!before.has(address))
      return [{ address, kind: 'added', attributes: differencesOf(undefined, after.get(address)?.attributes) }];
    if (!after.has(address))
      return [{ address, kind: 'removed', attributes: differencesOf(before.get(address)?.attributes, undefined) }];
    const attributes = differencesOf(before.get(address)?.attributes, after.get(address)?.attributes);
    return attributes.length === 0 ? [] : [{ address, kind: 'changed', attributes }];
  });
}

/** A signed link as a path, so that it can be used with the origin of this page. */
export const ownPath = (url: string | null): string | undefined => {
  if (url === null) return undefined;
  const { pathname, search } = new URL(url);
  return (pathname + search).replace(/^\/api\/v2\//, '');
};
