import { readFileSync } from 'node:fs';
import type { Context } from '../context';
import type { Report } from '../migration/report';
import { exitCodes, Problem } from '../problem';

/** A secret of the environment, or of the file that it names. */
export function secretOf(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[`${name}_FILE`];
  const value = env[name] ?? (file ? readFileSync(file, 'utf8') : '');
  if (!value.trim()) throw new Problem(`${name} or ${name}_FILE must be set`);
  return value.trim();
}

/** Prints what an import did: counts for people, all of it for programs. What failed may come with another run. */
export function showOutcome({ output, exitWith }: Context, report: Report, plan: boolean): void {
  const { created, present, left, missing, failed } = report;
  output.show(
    { plan, created, present, left, missing, failed, left_count: report.leftCount, failed_count: report.failedCount },
    {
      [plan ? 'would create' : 'created']: counts(created),
      'here already': counts(present),
      'by hand': report.leftCount,
      failed: report.failedCount,
    },
  );
  for (const kind of missing) output.note(`not there, or not for this token: ${kind}`);
  if (report.failedCount > 0) exitWith(exitCodes.refused);
}

function counts(found: Record<string, number>): string {
  const all = Object.entries(found).map(([kind, count]) => `${count} ${count === 1 ? kind : plural(kind)}`);
  return all.join(', ') || 'nothing';
}

function plural(kind: string): string {
  if (/[^aeiou]y$/.test(kind)) return `${kind.slice(0, -1)}ies`;
  return kind.endsWith('s') ? `${kind}es` : `${kind}s`;
}
