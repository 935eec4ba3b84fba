import type { ImportSteps } from '../import';
import { Refused } from '../refused';
import type { Report } from '../report';
import type { Data, SecretsServer } from './server';

/** One import from a secrets server: source, target, options and report. */
export interface VaultImport {
  readonly from: SecretsServer;
  readonly to: SecretsServer;
  /** Writes nothing, but counts what would be written. */
  readonly dryRun: boolean;
  /** The number of secrets copied in parallel. */
  readonly parallel: number;
  /** The longest gap of deleted versions that is bridged here by writing and destroying empty versions. */
  readonly longestGap: number;
  readonly report: Report;
  readonly progress: ImportSteps;
  /** Target accessors and group ids by the source's: policies may name them. */
  readonly renamed: Map<string, string>;
}

/** A source namespace and its target. */
export interface NamespacePair {
  readonly job: VaultImport;
  readonly from: SecretsServer;
  readonly to: SecretsServer;
  /** False in a dry run if the target namespace does not exist yet. */
  readonly exists: boolean;
}

/** The name of an object in the report. */
export const labelOf = ({ from }: NamespacePair, path: string): string =>
  from.namespace ? `${from.namespace}/${path}` : path;

/** Reads a path of the target. */
export const findHere = async ({ to, exists }: NamespacePair, path: string): Promise<Data | undefined> =>
  exists ? to.find(path) : undefined;

/** Does one piece of work. If a server refuses it, this is reported and the rest continues. */
export async function attempt<T>({ report }: VaultImport, work: () => Promise<T>, label = ''): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    report.fail(label ? `${label}: ${error.message}` : error.message);
    return undefined;
  }
}

/** The names below a source path. Lists that the source refuses are reported. */
export async function* namesThere(place: NamespacePair, path: string): AsyncGenerator<string> {
  const names = place.from.names(path);
  for (;;) {
    const next = await attempt(place.job, () => names.next());
    if (!next || next.done) return;
    yield next.value;
  }
}
