import { execFileSync, spawnSync } from 'node:child_process';
import type { Planned } from './plan';
import { digestOf, type Results } from './results';

/** The arguments of the command. */
export interface Given {
  readonly rows: readonly string[];
  /** Undefined for all rows. */
  readonly changedSince: string | undefined;
  readonly seconds: number;
  readonly workers: number;
}

/** Reads the arguments of the command. */
export function readArguments(args: readonly string[]): Given {
  const rows: string[] = [];
  let changedSince: string | undefined;
  let seconds = Number.POSITIVE_INFINITY;
  let workers = 2;
  for (let i = 0; i < args.length; i++) {
    const next = args[i + 1];
    if (args[i] === '--changed') {
      const named = next !== undefined && !next.startsWith('--') && !/^[ESW][\dA-Z]/.test(next);
      changedSince = named ? next : 'HEAD~1';
      if (named) i += 1;
    } else if (args[i] === '--seconds') {
      seconds = Number(next);
      i += 1;
    } else if (args[i] === '--workers') {
      workers = Math.max(1, Number(next));
      i += 1;
    } else {
      rows.push(args[i]!);
    }
  }
  return { rows, changedSince, seconds, workers };
}

/** Files that differ from a commit; if it does not exist, as after a forced push, from the previous one. */
function changedFiles(root: string, asked: string): Set<string> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const isThere = (commit: string) =>
    spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0;
  const since = isThere(asked) ? asked : 'HEAD~1';
  const untracked = git('ls-files', '--others', '--exclude-standard');
  return new Set([...git('diff', '--name-only', since), ...untracked].filter((name) => name !== ''));
}

/** The rows to run; those without a result for their current mutants first. */
export function rowsToPlay(
  root: string,
  plan: readonly Planned[],
  { rows, changedSince }: Given,
  results: Results,
  places: ReadonlyMap<string, string>,
): Planned[] {
  const named = plan.filter(
    ({ row }) =>
      rows.length === 0 || rows.some((one) => row.id === one || row.id.startsWith(one.length === 1 ? one : `${one}.`)),
  );
  if (changedSince === undefined) return named;
  const changed = changedFiles(root, changedSince);
  const isNew = (planned: Planned) => results[planned.row.id]?.digest !== digestOf(planned);
  const touched = ({ files, mutants }: Planned) =>
    files.some((file) => changed.has(file)) || mutants.some(({ of }) => changed.has(places.get(of) ?? of));
  return [...named.filter(isNew), ...named.filter((planned) => !isNew(planned) && touched(planned))];
}
