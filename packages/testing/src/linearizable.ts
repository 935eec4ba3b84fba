/** One call of a recorded history. `ended` is infinite, and `answer` undefined, where no answer ever came. */
export interface Recorded<Operation, Answer> {
  readonly operation: Operation;
  readonly answer: Answer | undefined;
  readonly began: number;
  readonly ended: number;
}

/** What a call does to the state of things when it takes effect; undefined where it could not have been answered so. */
export type Model<Operation, Answer> = (
  state: string,
  operation: Operation,
  answer: Answer | undefined,
) => string | undefined;

/**
 * True when the calls can be put in one order that agrees with time (who ended before another began comes first) and in
 * which every answer is what the model gives. A call without an answer took effect at any time after it began, or never.
 */
export function isLinearizable<Operation, Answer>(
  history: readonly Recorded<Operation, Answer>[],
  model: Model<Operation, Answer>,
  initial: string,
): boolean {
  const calls = [...history].sort((a, b) => a.began - b.began);
  const seen = new Set<string>();
  const done = new Set<number>();
  // Depth first over what may come next; a set of done calls with a state is looked at once.
  const search = (state: string): boolean => {
    if (calls.every((call, index) => done.has(index) || call.answer === undefined)) return true;
    const key = `${state} ${[...done].sort((a, b) => a - b).join()}`;
    if (seen.has(key)) return false;
    seen.add(key);
    let earliestEnd = Number.POSITIVE_INFINITY;
    for (const [index, call] of calls.entries()) {
      if (call.began > earliestEnd) break;
      if (done.has(index)) continue;
      earliestEnd = Math.min(earliestEnd, call.ended);
      const next = model(state, call.operation, call.answer);
      if (next === undefined) continue;
      done.add(index);
      if (search(next)) return true;
      done.delete(index);
    }
    return false;
  };
  return search(initial);
}
