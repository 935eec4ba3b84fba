// For the program of a process that a test kills: it imports this file without the rest of the package, to start quickly.

/** What a test tells a process that it started; other orders are of the program itself. */
interface Order {
  readonly dieAt?: string;
  readonly passes?: number;
  readonly record?: boolean;
}

/**
 * Obeys the orders of the test that started this process. Returns what the process calls at each of its fault points, by
 * name: at the one that was ordered, it kills itself. `more` takes orders of another kind; what it returns is the answer.
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
  // A process without its parent ends.
  process.once('disconnect', () => process.exit(1));
  return (name) => {
    if (recording) passed.push(name);
    if (name !== dieAt || passes-- > 0) return;
    process.kill(process.pid, 'SIGKILL');
    // Nothing more may happen until the signal arrives.
    for (;;);
  };
}
