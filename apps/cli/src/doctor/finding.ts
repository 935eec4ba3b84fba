/** How bad it is, worst first; `unchecked` is what could not be looked at. */
export const severities = ['critical', 'warning', 'notice', 'unchecked'] as const;
export type Severity = (typeof severities)[number];

/** Something wrong with an installation, or not to be seen. */
export interface Finding {
  readonly severity: Severity;
  /** What it is about: a service, or its database. */
  readonly subject: string;
  readonly what: string;
  /** What to do about it. */
  readonly next: string;
}

/** Findings of one subject as they are made. */
export class Findings {
  readonly all: Finding[] = [];
  /** What was looked at and is in order. */
  readonly fine: string[] = [];

  constructor(readonly subject: string) {}

  add(severity: Severity, what: string, next: string): void {
    this.all.push({ severity, subject: this.subject, what, next });
  }

  /** One question: a finding where the answer is yes. */
  ask(severity: Severity, bad: boolean, fine: string, what: string, next: string): void {
    if (bad) this.add(severity, what, next);
    else this.fine.push(`${this.subject}: ${fine}`);
  }
}

/** The worst first, and in the order in which they were found. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return severities.flatMap((severity) => findings.filter((one) => one.severity === severity));
}
