/** Who go on at once; others are answered before the next so many. */
const PER_TURN = 32;

/**
 * Lets hundreds who waited for one commit go on a few in each turn of the event loop, so that it is not they alone who
 * are answered for a while. Nothing is delayed where few wait.
 */
export function inTurns<T>(waiting: readonly T[], goOn: (one: T) => void): void {
  for (const one of waiting.slice(0, PER_TURN)) goOn(one);
  if (waiting.length > PER_TURN) setImmediate(() => inTurns(waiting.slice(PER_TURN), goOn));
}

/** Rows that are decrypted in one turn of the event loop: a few milliseconds. */
const ROWS_PER_TURN = 100;

/** Maps many rows, with a turn of the event loop for everybody else after every so many. */
export async function mapInTurns<T, R>(rows: readonly T[], map: (row: T) => R | Promise<R>): Promise<R[]> {
  const mapped: R[] = [];
  for (const row of rows) {
    if (mapped.length > 0 && mapped.length % ROWS_PER_TURN === 0) await new Promise((go) => setImmediate(go));
    mapped.push(await map(row));
  }
  return mapped;
}
