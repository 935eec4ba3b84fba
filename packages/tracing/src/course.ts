import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, TraceSpan } from './trace-span';

/**
 * Phases of a request other than our own work: waiting for a turn, a connection or a batch; the database; outside
 * systems. `asked` is waiting that the caller requested, such as a long poll.
 */
export type TimeUse = 'waiting' | 'database' | 'outside' | 'asked';

/** Watched work in progress: a request, a run, or a batch for several callers. */
export class Course {
  /** Milliseconds by phase. Phases that run in parallel are each counted in full. */
  readonly spentMs: Record<TimeUse, number> = { waiting: 0, database: 0, outside: 0, asked: 0 };
  private ended = false;

  constructor(
    /** Undefined if it is timed but not traced. */
    readonly span: TraceSpan | undefined,
    /** The courses to which its time is added. */
    private readonly members: readonly Course[] = [],
  ) {}

  /** Ends the course. Work that it started and did not wait for is no longer recorded. */
  end(): void {
    this.ended = true;
  }

  get isOver(): boolean {
    return this.ended;
  }

  spend(phase: TimeUse, ms: number): void {
    this.spentMs[phase] += ms;
    for (const member of this.members) member.spend(phase, ms);
  }
}

const courses = new AsyncLocalStorage<Course>();

/** The course of the work in progress; undefined if it is not watched. */
export function currentCourse(): Course | undefined {
  const course = courses.getStore();
  return course === undefined || course.isOver ? undefined : course;
}

/** Does work as part of a course; `undefined` for work outside any course. */
export function follow<T>(course: Course | undefined, work: () => T): T {
  if (course !== undefined) return courses.run(course, work);
  return courses.getStore() === undefined ? work() : courses.exit(work);
}

/** Does work as a phase of the current course, in its own span. Attributes are names and numbers, never values. */
export function during<T>(
  phase: TimeUse,
  name: string,
  attributes: Attributes | undefined,
  work: (span: TraceSpan | undefined) => Promise<T>,
): Promise<T> {
  const course = currentCourse();
  return course === undefined ? work(undefined) : spend(course, phase, name, attributes, work);
}

async function spend<T>(
  course: Course,
  phase: TimeUse,
  name: string,
  attributes: Attributes | undefined,
  work: (span: TraceSpan | undefined) => Promise<T>,
): Promise<T> {
  const startedAtMs = performance.now();
  const span = course.span?.child(name, phase === 'waiting' ? 'internal' : 'client', attributes);
  let failed = true;
  try {
    const result = await work(span);
    failed = false;
    return result;
  } finally {
    course.spend(phase, performance.now() - startedAtMs);
    span?.end(failed);
  }
}

/** Does a step of the current course in its own span; nested steps become its children. */
export async function step<T>(name: string, attributes: Attributes | undefined, work: () => Promise<T>): Promise<T> {
  const course = currentCourse();
  const span = course?.span?.child(name, 'internal', attributes);
  if (course === undefined || span === undefined) return work();
  let failed = true;
  try {
    const result = await courses.run(new Course(span, [course]), work);
    failed = false;
    return result;
  } finally {
    span.end(failed);
  }
}

/** A course that has requested work, and the time since it began to wait for it. */
export interface Asked {
  readonly course: Course;
  readonly sinceMs: number;
}

/**
 * Does work for several courses at the same time. Each course has waited until now, and the time of the work is added
 * to each. The first traced course gets the span with everything below it; the others get a span that links to it.
 */
export async function together(name: string, askers: readonly Asked[], work: () => Promise<void>): Promise<void> {
  const now = performance.now();
  for (const { course, sinceMs } of askers) course.spend('waiting', now - sinceMs);
  const members = [...new Set(askers.map(({ course }) => course))];
  const [first, ...others] = members.flatMap(({ span }) => span ?? []);
  const size = { 'keystead.batch.size': askers.length };
  const leader = first?.child(name, 'internal', size, others);
  const linked = leader ? others.map((span) => span.child(name, 'internal', size, [leader])) : [];
  try {
    await courses.run(new Course(leader, members), work);
  } finally {
    for (const span of [leader, ...linked]) span?.end(false);
  }
}
