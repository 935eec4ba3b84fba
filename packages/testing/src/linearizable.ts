/** One call of a recorded history. Without an answer, `ended` is infinite and `answer` undefined. */
export interface Recorded<Operation, Answer> {
  readonly operation: Operation;
  readonly answer: Answer | undefined;
  readonly began: number;
  readonly ended: number;
}

/**
 * Returns the state after a call takes effect, or undefined if the call could not have had this answer in this state.
 */
export type Model<Operation, Answer> = (
  state: string,
  operation: Operation,
  answer: Answer | undefined,
) => string | undefined;

/**
 * True if there is an order of the calls that agrees with time (a call that ended before another began comes first) and
 * gives every answer by the model. A call without an answer took effect at any time after it began, or never.
 * Depth-first search. Each call without an answer would double the orders, so three rules limit them: of equal calls,
 * the earliest comes first; a call is taken only if it leads to a state that is new since the last answer; a state that
 * failed with some number of unanswered calls left is not tried again with fewer left.
 */
export function isLinearizable<Operation, Answer>(
  history: readonly Recorded<Operation, Answer>[],
  model: Model<Operation, Answer>,
  initial: string,
): boolean {
  const calls = [...history].sort((a, b) => a.began - b.began);
  const complete = calls.filter(({ answer }) => answer !== undefined);
  const states = [...reachable(calls, model, initial)];
  const effectOf = ({ operation }: Recorded<Operation, Answer>) =>
    JSON.stringify(states.map((state) => model(state, operation, undefined)));
  const kinds = new Map<string, Recorded<Operation, Answer>[]>();
  for (const call of calls.filter(({ answer }) => answer === undefined)) {
    const effect = effectOf(call);
    kinds.set(effect, [...(kinds.get(effect) ?? []), call]);
  }
  const groups = [...kinds.values()];
  const takenCounts = groups.map(() => 0);
  const placed = complete.map(() => false);
  /** For each dead end (the same calls in the same state), how many unanswered calls of each kind had been taken. */
  const failed = new Map<string, number[][]>();
  const search = (state: string, remaining: number, since: readonly string[]): boolean => {
    if (remaining === 0) return true;
    const key = `${state} ${placed.map(Number).join('')}`;
    const inVain = failed.get(key) ?? [];
    if (inVain.some((counts) => counts.every((count, kind) => count <= takenCounts[kind]!))) return false;
    const waiting = complete.flatMap((call, index) => (placed[index] ? [] : [{ ...call, index }]));
    const earliestEnd = Math.min(...waiting.map(({ ended }) => ended));
    for (const { index, began, operation, answer } of waiting) {
      if (began > earliestEnd) break;
      const next = model(state, operation, answer);
      if (next === undefined) continue;
      placed[index] = true;
      if (search(next, remaining - 1, [next])) return true;
      placed[index] = false;
    }
    for (const [kind, those] of groups.entries()) {
      const call = those[takenCounts[kind]!];
      if (call === undefined || call.began > earliestEnd) continue;
      const next = model(state, call.operation, undefined);
      if (next === undefined || since.includes(next)) continue;
      takenCounts[kind]!++;
      if (search(next, remaining, [...since, next])) return true;
      takenCounts[kind]!--;
    }
    failed.set(key, [...inVain, [...takenCounts]]);
    return false;
  };
  return search(initial, complete.length, [initial]);
}

/** Every state that the calls could lead to, in any order. */
function reachable<Operation, Answer>(
  calls: readonly Recorded<Operation, Answer>[],
  model: Model<Operation, Answer>,
  initial: string,
): ReadonlySet<string> {
  const states = new Set([initial]);
  for (const state of states) {
    for (const { operation, answer } of calls) states.add(model(state, operation, answer) ?? state);
  }
  return states;
}
