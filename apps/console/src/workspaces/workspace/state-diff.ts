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

function instancesOf(state: StateFile): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const { module, mode, type, name, instances } of state.resources ?? []) {
    for (const { index_key: index, attributes } of instances) {
      const key = index === undefined ? '' : `[${JSON.stringify(index)}]`;
      const address = `${module === undefined ? '' : `${module}.`}${mode === 'data' ? 'data.' : ''}${type}.${name}${key}`;
      found.set(address, attributes);
    }
  }
  for (const [name, { value }] of Object.entries(state.outputs ?? {})) found.set(`output.${name}`, { value });
  return found;
}

/** The differences between two states, by address. */
export function compareStates(older: StateFile, newer: StateFile): StateDifference[] {
  const before = instancesOf(older);
  const after = instancesOf(newer);
  const addresses = [...new Set([...before.keys(), ...after.keys()])].sort();
  return addresses.flatMap((address): StateDifference[] => {
    if (!before.has(address))
      return [{ address, kind: 'added', attributes: differencesOf(undefined, after.get(address)) }];
    if (!after.has(address))
      return [{ address, kind: 'removed', attributes: differencesOf(before.get(address), undefined) }];
    const attributes = differencesOf(before.get(address), after.get(address));
    return attributes.length === 0 ? [] : [{ address, kind: 'changed', attributes }];
  });
}

/** A signed link, with the origin of this page. */
export const ownPath = (url: string | null): string | undefined => {
  if (url === null) return undefined;
  const { pathname, search } = new URL(url);
  return (pathname + search).replace(/^\/api\/v2\//, '');
};
