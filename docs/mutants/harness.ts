import path from 'node:path';
import * as circus from 'jest-circus';
import { idsIn } from '../conformance/report';
import { type Restorable, restorable } from './database-pool';

type State = ReturnType<typeof circus.getState>;
type Test = State['currentlyRunningTest'] & object;
type Block = State['rootDescribeBlock'];
type Hook = 'beforeAll' | 'beforeEach' | 'afterEach' | 'afterAll';

/** `alone` runs the tests of the row and nothing else; `after others` also those before them, which they build upon. */
export type Manner = 'alone' | 'after others';

interface Placed {
  readonly test: Test;
  /** Rows that its titles name. */
  readonly ids: ReadonlySet<string>;
  /** The describes around it below the outermost. */
  readonly inside: readonly Block[];
}

const root = path.resolve(__dirname, '../..');

async function call(fn: unknown, limitMs?: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    if (limitMs !== undefined) timer = setTimeout(() => reject(new Error('took too long')), limitMs);
  });
  try {
    await Promise.race([(fn as () => unknown)(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function hooks(blocks: readonly Block[], kind: Hook): Promise<void> {
  for (const block of blocks) for (const hook of block.hooks) if (hook.type === kind) await call(hook.fn);
}

/**
 * The tests of an outermost describe, with what is set up for them. The database is put back before each run, so that the
 * same tests run any number of times; where a service remembers more than its database, it is started anew for each.
 */
export class Suite {
  private readonly tests: readonly Placed[];
  private databases: readonly Restorable[] | undefined;

  constructor(
    private readonly around: readonly Block[],
    private readonly reuses: boolean,
    tests: readonly Placed[],
  ) {
    this.tests = tests;
  }

  /** Do any of its tests name the row? */
  names(row: string): boolean {
    return this.tests.some(({ ids }) => ids.has(row));
  }

  /**
   * Runs the tests that name a row until one fails; answers the failure. A mutant may keep a test waiting for ever: then
   * it fails when the limit has passed.
   */
  async run(row: string, manner: Manner, limitMs?: number): Promise<Error | undefined> {
    const last = this.tests.findLastIndex(({ ids }) => ids.has(row));
    const chosen = this.tests.filter(({ ids }, index) => ids.has(row) || (manner === 'after others' && index < last));
    try {
      await this.open();
      return await this.runTests(chosen, row, limitMs);
    } catch (error) {
      return error as Error;
    } finally {
      if (!this.reuses) await this.close();
    }
  }

  /** Ends what was set up. */
  async close(): Promise<void> {
    if (this.databases === undefined) return;
    this.databases = undefined;
    await hooks(this.around, 'afterAll').catch(() => undefined);
  }

  private async open(): Promise<void> {
    if (this.databases !== undefined) {
      for (const database of this.databases) await database.restore();
      return;
    }
    const made = restorable();
    try {
      await hooks(this.around, 'beforeAll');
      this.databases = await made(this.reuses);
    } catch (error) {
      await hooks(this.around, 'afterAll').catch(() => undefined);
      throw error;
    }
  }

  private async runTests(chosen: readonly Placed[], row: string, limitMs?: number): Promise<Error | undefined> {
    const entered: Block[] = [];
    try {
      for (const { test, ids, inside } of chosen) {
        const fresh = inside.filter((block) => !entered.includes(block));
        entered.push(...fresh);
        await hooks(fresh, 'beforeAll');
        const blocks = [...this.around, ...inside];
        try {
          await hooks(blocks, 'beforeEach');
          await call(test.fn, limitMs);
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

/** Reads a test file anew, with all other modules as they are loaded already. */
export function suitesOf(file: string, reuses: boolean): Suite[] {
  const target = path.join(root, file);
  circus.resetState();
  delete require.cache[target];
  require(target);
  const { rootDescribeBlock } = circus.getState();
  const suites = rootDescribeBlock.children.flatMap((child) =>
    child.type === 'describeBlock'
      ? [new Suite([rootDescribeBlock, child], reuses, testsIn(child, [child.name], []))]
      : [],
  );
  const loose = { ...rootDescribeBlock, children: rootDescribeBlock.children.filter(({ type }) => type === 'test') };
  return [...suites, new Suite([rootDescribeBlock], reuses, testsIn(loose as Block, [], []))];
}
