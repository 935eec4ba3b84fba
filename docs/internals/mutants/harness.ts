import path from 'node:path';
import * as circus from 'jest-circus';
import { idsIn } from '../conformance/report';
import { type Restorable, restorable } from './database-pool';
import { STEP_LIMIT_MS, TooLong, within } from './limits';

type State = ReturnType<typeof circus.getState>;
type Test = State['currentlyRunningTest'] & object;
type Block = State['rootDescribeBlock'];
type Hook = 'beforeAll' | 'beforeEach' | 'afterEach' | 'afterAll';

/** `by itself` runs only the tests of the row; `after others` also the earlier tests that they depend on. */
export type Manner = 'by itself' | 'after others';

interface Placed {
  readonly test: Test;
  /** Rows that its titles name. */
  readonly ids: ReadonlySet<string>;
  /** The describes around it below the outermost. */
  readonly inside: readonly Block[];
}

const root = path.resolve(__dirname, '../../..');

async function hooks(blocks: readonly Block[], kind: Hook): Promise<void> {
  for (const block of blocks) {
    for (const hook of block.hooks) {
      if (hook.type === kind) await within(STEP_LIMIT_MS, kind, hook.fn as () => unknown);
    }
  }
}

/** An outermost describe, or the tests outside any describe. */
interface Declared {
  readonly around: readonly Block[];
  readonly tests: readonly Placed[];
}

/** The set-up of tests failed, or restoring it. A mutant may or may not be the cause. */
export class SetUpFailed extends Error {}

const asSetUp = (error: unknown): never => {
  throw new SetUpFailed(String((error as Error)?.stack ?? error));
};

/**
 * The tests of an outermost describe with their set-up. The database is restored before each run, so that the tests can
 * run any number of times; a service with more state than its database is restarted for each run.
 */
export class Suite {
  private databases: readonly Restorable[] | undefined;
  private around: readonly Block[];
  private tests: readonly Placed[];

  constructor(
    private readonly read: () => Declared,
    private readonly reuses: boolean,
  ) {
    ({ around: this.around, tests: this.tests } = read());
  }

  /** Whether any of its tests names the row. */
  names(row: string): boolean {
    return this.tests.some(({ ids }) => ids.has(row));
  }

  /** Sets up or restores the shared state while no mutant is active. If restoring fails, it is set up again. */
  async prepare(): Promise<void> {
    if (!this.reuses) return;
    try {
      for (const { restore } of this.databases ?? []) await within(STEP_LIMIT_MS, 'putting a database back', restore);
    } catch {
      await this.close();
    }
    if (this.databases === undefined) await this.open();
  }

  /**
   * Runs the tests that name a row until one fails; returns the failure. A mutant may make a test hang: then it fails
   * at the time limit, and everything is set up again for the next run, because pending work may still act.
   */
  async run(row: string, manner: Manner, limitMs: number): Promise<Error | undefined> {
    let keep = this.reuses;
    try {
      if (!this.reuses) await this.open();
      const last = this.tests.findLastIndex(({ ids }) => ids.has(row));
      const chosen = this.tests.filter(({ ids }, index) => ids.has(row) || (manner === 'after others' && index < last));
      const failure = await this.runTests(chosen, row, limitMs);
      keep &&= !(failure instanceof TooLong);
      return failure;
    } catch (error) {
      keep = false;
      return error as Error;
    } finally {
      if (!keep) await this.close();
    }
  }

  /** Tears down the set-up. */
  async close(): Promise<void> {
    if (this.databases === undefined) return;
    this.databases = undefined;
    await hooks(this.around, 'afterAll').catch(() => undefined);
  }

  private async open(): Promise<void> {
    const made = restorable();
    // Reading the file again also resets its variables.
    ({ around: this.around, tests: this.tests } = this.read());
    try {
      await hooks(this.around, 'beforeAll');
      this.databases = await made(this.reuses);
    } catch (error) {
      await hooks(this.around, 'afterAll').catch(() => undefined);
      asSetUp(error);
    }
  }

  private async runTests(chosen: readonly Placed[], row: string, limitMs: number): Promise<Error | undefined> {
    const entered: Block[] = [];
    try {
      for (const { test, ids, inside } of chosen) {
        const fresh = inside.filter((block) => !entered.includes(block));
        entered.push(...fresh);
        await hooks(fresh, 'beforeAll').catch(asSetUp);
        const blocks = [...this.around, ...inside];
        await hooks(blocks, 'beforeEach').catch(asSetUp);
        try {
          await within(limitMs, test.name, test.fn as () => unknown);
        } catch (error) {
          if (ids.has(row)) return error as Error;
        } finally {
          await hooks(blocks, 'afterEach').catch(() => undefined);
        }
      }
      return undefined;
    } finally {
      await hooks(entered, 'afterAll').catch(() => undefined);
    }
  }
}

function testsIn(block: Block, titles: readonly string[], inside: readonly Block[]): Placed[] {
  return block.children.flatMap((child): Placed[] => {
    const named = [...titles, child.name];
    if (child.type === 'describeBlock') return testsIn(child, named, [...inside, child]);
    return child.mode === 'skip' || child.mode === 'todo'
      ? []
      : [{ test: child, ids: new Set(named.flatMap(idsIn)), inside }];
  });
}

/** Loads a test file again; all other modules stay loaded. */
function declaredIn(file: string): Declared[] {
  const target = path.join(root, file);
  circus.resetState();
  delete require.cache[target];
  require(target);
  const { rootDescribeBlock } = circus.getState();
  const outermost = rootDescribeBlock.children.flatMap((child): Declared[] =>
    child.type === 'describeBlock'
      ? [{ around: [rootDescribeBlock, child], tests: testsIn(child, [child.name], []) }]
      : [],
  );
  const loose = { ...rootDescribeBlock, children: rootDescribeBlock.children.filter(({ type }) => type === 'test') };
  return [...outermost, { around: [rootDescribeBlock], tests: testsIn(loose as Block, [], []) }];
}

/** The outermost describes of a test file. */
export function suitesOf(file: string, reuses: boolean): Suite[] {
  return declaredIn(file).map((_, index) => new Suite(() => declaredIn(file)[index]!, reuses));
}
