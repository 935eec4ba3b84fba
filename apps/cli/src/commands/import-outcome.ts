import { readFileSync } from 'node:fs';
import type { Context } from '../context';
import type { Report } from '../migration/report';
import { exitCodes, Problem } from '../problem';
import type { Progress } from '../progress';

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

/** Without a terminal, a line is printed for every this many things. */
const TOLD_EVERY = 1_000;

/** Tells how far an import is: a person on a terminal on one line, others by a line for each place that it comes to. */
export class ImportProgress {
  private line: Progress;
  private what = '';
  private done = 0;

  constructor(
    private readonly made: Context,
    private readonly unit: string,
  ) {
    this.line = made.progress('', unit);
  }

  /** The work comes to another place, which has as many things as `total` says, if that is known. */
  begin(what: string, total?: number): void {
    this.line.end();
    this.line = this.made.progress(what, this.unit, total);
    this.what = what;
    this.done = 0;
    if (!this.line.isSeen) this.made.output.note(what);
    this.line.at(0);
  }

  /** One thing of the place is done. */
  step(): void {
    this.done += 1;
    this.line.at(this.done, this.what);
    if (!this.line.isSeen && this.done % TOLD_EVERY === 0) this.note(`${this.what}: ${this.done} ${this.unit}`);
  }

  /** What the next thing is called. */
  about(what: string): void {
    this.what = what;
    this.line.at(this.done, what);
    if (!this.line.isSeen) this.made.output.note(what);
  }

  /** A sentence that stays. */
  note(sentence: string): void {
    this.line.end();
    this.made.output.note(sentence);
  }

  end(): void {
    this.line.end();
  }
}

/** What an import does when it is stopped, or has been. */
export const afterStop = 'what is here already stays as it is; run it again to go on';
