import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, TraceSpan } from './trace-span';

/**
 * What the time of a request goes into, besides our own work: waiting for a turn, a connection or a batch; the database;
 * outside systems. `asked` is waiting that the caller asked for, as of a long poll: no fault of ours.
 */
export type TimeUse = 'waiting' | 'database' | 'outside' | 'asked';

/** A piece of work under way that is watched: a request, a run, or a batch of what several ask. */
export class Course {
  /** Milliseconds by phase. What goes on side by side counts each by itself. */
  readonly spentMs: Record<TimeUse, number> = { waiting: 0, database: 0, outside: 0, asked: 0 };
  private over = false;

  constructor(
    /** Undefined: it is timed, not traced. */
    readonly span: TraceSpan | undefined,
    /** Those whose time is spent with it. */
    private readonly members: readonly Course[] = [],
  ) {}

  /** Ends it. Work that it began and did not wait for is not recorded any more. */
  end(): void {
    this.over = true;
  }

  get isOver(): boolean {
    return this.over;
  }

  spend(phase: TimeUse, ms: number): void {
    this.spentMs[phase] += ms;
    for (const member of this.members) member.spend(phase, ms);
  }
}

const courses = new AsyncLocalStorage<Course>();

/** What is watched of the work under way; undefined if nothing is. */
export function currentCourse(): Course | undefined {
  const course = courses.getStore();
  return course === undefined || course.isOver ? undefined : course;
}

/** Does work as part of a course; `undefined` for work outside of any. */
export function follow<T>(course: Course | undefined, work: () => T): T {
  if (course !== undefined) return courses.run(course, work);
  return courses.getStore() === undefined ? work() : courses.exit(work);
}

/** Does work that belongs to a phase of the current course, in its own span. Attributes are names and numbers, never values. */
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

/** Who asked for a piece of work that is done later, and how long it has waited. */
export interface Asked {
  readonly course: Course;
  readonly sinceMs: number;
}

/**
 * Does what several have asked for at once. Each has waited until now, and each spends the time that it takes. The first that is
 * traced has the span with everything below it; the others have one that links to it.
 */
export async function together(name: string, asked: readonly Asked[], work: () => Promise<void>): Promise<void> {
  const now = performance.now();
  for (const { course, sinceMs } of asked) course.spend('waiting', now - sinceMs);
  const members = [...new Set(asked.map(({ course }) => course))];
  const [first, ...others] = members.flatMap(({ span }) => span ?? []);
  const size = { 'keystead.batch.size': asked.length };
  const led = first?.child(name, 'internal', size, others);
  const linked = led ? others.map((span) => span.child(name, 'internal', size, [led])) : [];
  try {
    await courses.run(new Course(led, members), work);
  } finally {
    for (const span of [led, ...linked]) span?.end(false);
  }
}
