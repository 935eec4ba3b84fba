// Imported by programs that tests kill, without the rest of the package, so that they start quickly.

/** The orders of a test to a process that it started; other orders are defined by the program. */
interface Order {
  readonly dieAt?: string;
  readonly passes?: number;
  readonly record?: boolean;
}

/**
 * Follows the orders of the test that started this process. Returns a function to call at each fault point with its
 * name. At the fault point in the order, the process kills itself. `more` handles other orders and returns the answers.
 */
export function faultPoints(more?: (order: object) => unknown): (name: string) => void {
  let dieAt: string | undefined;
  let passes = 0;
  let passed: string[] = [];
  let recording = false;
  process.on('message', async ({ id, order }: { id: number; order: Order }) => {
    if (order.dieAt !== undefined) {
      ({ dieAt, passes = 0 } = order);
      process.send?.({ id });
    } else if (order.record !== undefined) {
      process.send?.({ id, answer: passed });
      recording = order.record;
      passed = [];
    } else {
      process.send?.({ id, answer: await more?.(order) });
    }
  });
  // The process ends with its parent.
  process.once('disconnect', () => process.exit(1));
  return (name) => {
    if (recording) passed.push(name);
    if (name !== dieAt || passes-- > 0) return;
    process.kill(process.pid, 'SIGKILL');
    // Nothing more may happen until the signal arrives.
    for (;;);
  };
}
