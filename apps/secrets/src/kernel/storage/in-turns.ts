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
