import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Conformance, MutantsByRow } from '../conformance/report';
import type { Outcome } from './crew';
import { nameOf } from './mutant';
import { type Planned, planOf } from './plan';

/** The result of the mutants of one row. */
export interface RowResult {
  readonly planted: number;
  readonly survivors: readonly string[];
  /** A digest of the mutants that ran. */
  readonly digest: string;
}

/** Results by row. */
export type Results = Record<string, RowResult>;

/** The file of the results; a long run may use another one, to leave the work tree unchanged. */
const fileIn = (root: string): string =>
  process.env.KEYSTEAD_MUTANTS_FILE ?? join(root, 'docs/internals/conformance/mutants.json');

/** A digest of the mutants of a row: changes when one is added, dropped or changed. */
export function digestOf({ mutants }: Pick<Planned, 'mutants'>): string {
  return createHash('sha256').update(mutants.map(nameOf).sort().join('\n')).digest('hex').slice(0, 12);
}

function resultOf(planned: Planned, survivors: Outcome['survivors']): RowResult {
  return {
    planted: planned.mutants.length,
    survivors: survivors.map(({ name }) => name).sort(),
    digest: digestOf(planned),
  };
}

/** The recorded results. */
export function readResults(root: string): Results {
  const file = fileIn(root);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};
}

/** Records the result of one row among those of all rows that have mutants. */
export function recordResult(root: string, plan: readonly Planned[], planned: Planned, outcome: Outcome): void {
  // Another run may have recorded results in the meantime.
  const results = { ...readResults(root), [planned.row.id]: resultOf(planned, outcome.survivors) };
  const recorded = plan.flatMap(({ row }) => (results[row.id] === undefined ? [] : [[row.id, results[row.id]]]));
  const lines = recorded.map(([id, result]) => `  ${JSON.stringify(id)}: ${JSON.stringify(result)}`);
  writeFileSync(fileIn(root), `{\n${lines.join(',\n')}\n}\n`);
}

/** The results that the table of rows shows; those of other mutants than the current ones are left out. */
export function mutantsByRow(root: string, conformance: Conformance): MutantsByRow {
  const results = readResults(root);
  return new Map(
    planOf(conformance).map((planned) => {
      const result = results[planned.row.id];
      const survivors = result?.digest === digestOf(planned) ? result.survivors : undefined;
      return [planned.row.id, { planted: planned.mutants.length, survivors }];
    }),
  );
}
