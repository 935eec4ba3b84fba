import { readFileSync } from 'node:fs';
import type { Context } from '../context';
import type { Report } from '../migration/report';
import { exitCodes, Problem } from '../problem';
import type { Progress } from '../progress';

/** A secret from an environment variable, or from the file named there. */
export function secretOf(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[`${name}_FILE`];
  const value = env[name] ?? (file ? readFileSync(file, 'utf8') : '');
  if (!value.trim()) throw new Problem(`${name} or ${name}_FILE must be set`);
  return value.trim();
}

/** Prints the result of an import: counts in a table, everything with `--format json`. */
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
  for (const kind of missing) output.note(`absent, or hidden from this token: ${kind}`);
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

/** Without a terminal, one line is printed for this many items. */
const TOLD_EVERY = 1_000;

/** Shows the progress of an import: on one line of a terminal, otherwise with a line for each place. */
export class ImportProgress {
  private line: Progress;
  private what = '';
  private done = 0;

  constructor(
    private readonly context: Context,
    private readonly unit: string,
  ) {
    this.line = context.progress('', unit);
  }

  /** Starts another place, with `total` items if that is known. */
  begin(what: string, total?: number): void {
    this.line.end();
    this.line = this.context.progress(what, this.unit, total);
    this.what = what;
    this.done = 0;
    if (!this.line.isSeen) this.context.output.note(what);
    this.line.at(0);
  }

  /** Counts one item of the place as done. */
  step(): void {
    this.done += 1;
    this.line.at(this.done, this.what);
    if (!this.line.isSeen && this.done % TOLD_EVERY === 0) this.note(`${this.what}: ${this.done} ${this.unit}`);
  }

  /** Sets the name of the next item. */
  about(what: string): void {
    this.what = what;
    this.line.at(this.done, what);
    if (!this.line.isSeen) this.context.output.note(what);
  }

  /** Prints a permanent line. */
  note(sentence: string): void {
    this.line.end();
    this.context.output.note(sentence);
  }

  end(): void {
    this.line.end();
  }
}

/** What to do after an import was stopped. */
export const afterStop = 'existing items were not changed; run it again to continue';
