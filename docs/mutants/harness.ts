import path from 'node:path';
import * as circus from 'jest-circus';
import { idsIn } from '../conformance/report';

/** What is known of tests that have run. */
export interface Played {
  /** The tests that name the row, by their titles. */
  readonly named: number;
  /** Titles of those that failed; after the first the rest is not run. */
  readonly failed: readonly string[];
  /** The first failure's own words. */
  readonly reason?: string;
}

/** `alone` runs the tests of the row and nothing else; `after others` also those before them, which they build upon. */
export type Manner = 'alone' | 'after others';

type State = ReturnType<typeof circus.getState>;
type Test = State['currentlyRunningTest'] & object;
type Block = State['rootDescribeBlock'];

const root = path.resolve(__dirname, '../..');
/** Nothing that a test waits for takes so long unless a mutant keeps it from happening. */
const LONGEST_TEST_MS = 20_000;

function testsIn(block: Block, titles: readonly string[] = []): { test: Test; ids: Set<string>; top: string }[] {
  return block.children.flatMap((child) => {
    const path = [...titles, child.name];
    if (child.type === 'describeBlock') return testsIn(child, path);
    return [{ test: child, ids: new Set(path.flatMap(idsIn)), top: path[0]! }];
  });
}

/** Runs the tests of a file that name a row, with modules as they are loaded already; stops at the first that fails. */
export async function runNamed(file: string, row: string | undefined, manner: Manner): Promise<Played> {
  const target = path.join(root, file);
  circus.resetState();
  delete require.cache[target];
  require(target);
  const state = circus.getState();
  state.testTimeout = LONGEST_TEST_MS;
  const tests = testsIn(state.rootDescribeBlock);
  const named = new Set(tests.filter(({ ids }) => row === undefined || ids.has(row)).map(({ test }) => test));
  const lastOf = new Map<string, number>();
  tests.forEach(({ test, top }, index) => {
    if (named.has(test)) lastOf.set(top, index);
  });
  tests.forEach(({ test, top }, index) => {
    const runs = named.has(test) || (manner === 'after others' && index < (lastOf.get(top) ?? -1));
    if (!runs) test.mode = 'skip';
  });
  const failed: string[] = [];
  let reason: string | undefined;
  const watch = (event: circus.Event): void => {
    if (event.name !== 'test_done' || event.test.errors.length === 0 || !named.has(event.test)) return;
    failed.push(event.test.name);
    reason ??= String(event.test.errors[0]).split('\n')[0];
    for (const { test } of tests) if (test.startedAt === null || test.startedAt === undefined) test.mode = 'skip';
  };
  circus.addEventHandler(watch);
  try {
    const result = await circus.run();
    // A failure while loading or setting up belongs to no test.
    if (result.unhandledErrors.length > 0 && failed.length === 0) reason = String(result.unhandledErrors[0]);
  } finally {
    circus.removeEventHandler(watch);
  }
  return { named: named.size, failed, reason };
}
