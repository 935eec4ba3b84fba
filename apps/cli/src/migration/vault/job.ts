import type { ImportSteps } from '../import';
import { Refused } from '../refused';
import type { Report } from '../report';
import type { Data, SecretsServer } from './server';

/** One import of a server of secrets: from, to, whether to write, with its outcome. */
export interface VaultImport {
  readonly from: SecretsServer;
  readonly to: SecretsServer;
  /** Write nothing; count what would be written. */
  readonly dryRun: boolean;
  /** Secrets worked on at a time. */
  readonly parallel: number;
  /** Numbers of versions that are gone there, which are passed over here by writing and removing as many. */
  readonly longestGap: number;
  readonly report: Report;
  readonly progress: ImportSteps;
  /** Accessors and ids of groups here by those there: policies may name them. */
  readonly renamed: Map<string, string>;
}

/** One namespace there and its counterpart. */
export interface NamespacePair {
  readonly job: VaultImport;
  readonly from: SecretsServer;
  readonly to: SecretsServer;
  /** False in a dry run where the namespace is not here yet: then nothing in it is. */
  readonly exists: boolean;
}

/** What a thing of a place is called in the report. */
export const labelOf = ({ from }: NamespacePair, path: string): string =>
  from.namespace ? `${from.namespace}/${path}` : path;

/** What is at a path here. */
export const findHere = async ({ to, exists }: NamespacePair, path: string): Promise<Data | undefined> =>
  exists ? to.find(path) : undefined;

/** Does one piece of work; when a server refuses it, the report says so and the rest goes on. */
export async function attempt<T>({ report }: VaultImport, work: () => Promise<T>, label = ''): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    report.fail(label ? `${label}: ${error.message}` : error.message);
    return undefined;
  }
}

/** The names below a path; what may not be listed is reported. */
export async function* namesThere(place: NamespacePair, path: string): AsyncGenerator<string> {
  const names = place.from.names(path);
  for (;;) {
    const next = await attempt(place.job, () => names.next());
    if (!next || next.done) return;
    yield next.value;
  }
}
