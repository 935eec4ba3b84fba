/** Severities, worst first; `unchecked`: could not be checked. */
export const severities = ['critical', 'warning', 'notice', 'unchecked'] as const;
export type Severity = (typeof severities)[number];

/** A problem of an installation, or something that could not be checked. */
export interface Finding {
  readonly severity: Severity;
  /** Its subject: a service, or its database. */
  readonly subject: string;
  readonly what: string;
  /** What to do about it. */
  readonly next: string;
}

/** Collects the findings of one subject. */
export class Findings {
  readonly all: Finding[] = [];
  /** The checks that passed. */
  readonly fine: string[] = [];

  constructor(readonly subject: string) {}

  add(severity: Severity, what: string, next: string): void {
    this.all.push({ severity, subject: this.subject, what, next });
  }

  /** Records the result of a check: a finding if it failed. */
  check(severity: Severity, bad: boolean, fine: string, what: string, next: string): void {
    if (bad) this.add(severity, what, next);
    else this.fine.push(`${this.subject}: ${fine}`);
  }
}

/** Sorts findings: the most severe first, equally severe ones in the order in which they were found. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return severities.flatMap((severity) => findings.filter((one) => one.severity === severity));
}
