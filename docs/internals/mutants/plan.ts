import type { Conformance } from '../conformance/report';
import type { SpecRow } from '../conformance/rows';
import { explicit } from './explicit';
import type { Mutant } from './mutant';
import { mutantsOfSecrets } from './rows-of-secrets';
import { mutantsOfWorkspaces } from './rows-of-workspaces';

/** One row, the files whose tests name it, and the faults that those tests must notice. */
export interface Planned {
  readonly row: SpecRow;
  readonly files: readonly string[];
  readonly mutants: readonly Mutant[];
}

/** Every row that tests name and that has mutants. */
export function planOf({ specs, tests }: Conformance): Planned[] {
  return specs.flatMap(({ rows }) =>
    rows.flatMap((row) => {
      const files = [...new Set((tests.get(row.id) ?? []).map(({ file }) => file))];
      const mutants = [...mutantsOfSecrets(row), ...mutantsOfWorkspaces(row), ...(explicit[row.id] ?? [])];
      return files.length === 0 || mutants.length === 0 ? [] : [{ row, files, mutants }];
    }),
  );
}
