import type { Endpoint, Resource } from '../../../apps/workspaces/src/kernel/endpoints/endpoint';
import { absent, different } from './notes';
import type { Operation } from './reference';

/** The comparison of an operation with this service. */
export interface Compared extends Operation {
  readonly state: 'same' | 'differs' | 'not built';
  /** How it differs, or why it is not built; for an equal operation, the only edition that has it. */
  readonly note: string;
}

/** The name of an operation: `GET /plans/{id}`. */
export const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;

/** A path without the names of its parameters. */
const shapeOf = (path: string): string => path.replace(/:[A-Za-z_]+|\{[^}]+\}/g, '{}');

/** Compares each operation with the endpoints of the workspace service. */
export function compare(reference: readonly Operation[], resources: readonly Resource[]): Compared[] {
  const served = new Map<string, Endpoint>();
  for (const endpoint of resources.flatMap(({ endpoints }) => endpoints)) {
    if (!endpoint.outside) served.set(`${endpoint.method} ${shapeOf(endpoint.path)}`, endpoint);
  }
  return reference.map((operation) => {
    const name = nameOf(operation);
    const endpoint = served.get(shapeOf(name));
    if (endpoint === undefined) return { ...operation, state: 'not built', note: reasonsFor(name).join('; ') };
    const note = different[name] ?? '';
    const edition = endpoint.edition === undefined ? '' : `${endpoint.edition} edition`;
    const state = note === '' ? 'same' : 'differs';
    return { ...operation, state, note: [edition, note].filter((part) => part !== '').join(': ') };
  });
}

/** The reasons why an operation is not built. */
export function reasonsFor(name: string): string[] {
  return Object.entries(absent)
    .filter(([, names]) => names.test(name))
    .map(([reason]) => reason);
}
