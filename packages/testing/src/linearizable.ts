/** One call of a recorded history. `ended` is infinite, and `answer` undefined, where no answer ever came. */
export interface Recorded<Operation, Answer> {
  readonly operation: Operation;
  readonly answer: Answer | undefined;
  readonly began: number;
  readonly ended: number;
}

/** What a call does to the state of things when it takes effect; undefined if it could not have been answered so. */
export type Model<Operation, Answer> = (
  state: string,
  operation: Operation,
  answer: Answer | undefined,
) => string | undefined;

/**
 * True when the calls can be put in one order that agrees with time (who ended before another began comes first) and in
 * which every answer is what the model gives. A call without an answer took effect at any time after it began, or never.
 *
 * Depth first over what may come next. Each call without an answer would double the orders: of those that do the same, the
 * earliest comes first; one is taken only where it leads to a state that was not there since the last answer; and what
 * failed with more of them left is not tried with fewer.
 */
export function isLinearizable<Operation, Answer>(
  history: readonly Recorded<Operation, Answer>[],
  model: Model<Operation, Answer>,
  initial: string,
): boolean {
  const calls = [...history].sort((a, b) => a.began - b.began);
  const answered = calls.filter(({ answer }) => answer !== undefined);
  const states = [...reachable(calls, model, initial)];
  const effectOf = ({ operation }: Recorded<Operation, Answer>) =>
    JSON.stringify(states.map((state) => model(state, operation, undefined)));
  const kinds = new Map<string, Recorded<Operation, Answer>[]>();
  for (const call of calls.filter(({ answer }) => answer === undefined)) {
    const effect = effectOf(call);
    kinds.set(effect, [...(kinds.get(effect) ?? []), call]);
  }
  const alike = [...kinds.values()];
  const taken = alike.map(() => 0);
  const done = answered.map(() => false);
  /** How many of each kind of unanswered calls were taken where the same calls were done in the same state, and no order was found. */
  const failed = new Map<string, number[][]>();
  const search = (state: string, left: number, since: readonly string[]): boolean => {
    if (left === 0) return true;
    const key = `${state} ${done.map(Number).join('')}`;
    const inVain = failed.get(key) ?? [];
    if (inVain.some((counts) => counts.every((count, kind) => count <= taken[kind]!))) return false;
    const waiting = answered.flatMap((call, index) => (done[index] ? [] : [{ ...call, index }]));
    const earliestEnd = Math.min(...waiting.map(({ ended }) => ended));
    for (const { index, began, operation, answer } of waiting) {
      if (began > earliestEnd) break;
      const next = model(state, operation, answer);
      if (next === undefined) continue;
      done[index] = true;
      if (search(next, left - 1, [next])) return true;
      done[index] = false;
    }
    for (const [kind, those] of alike.entries()) {
      const call = those[taken[kind]!];
      if (call === undefined || call.began > earliestEnd) continue;
      const next = model(state, call.operation, undefined);
      if (next === undefined || since.includes(next)) continue;
      taken[kind]!++;
      if (search(next, left, [...since, next])) return true;
      taken[kind]!--;
    }
    failed.set(key, [...inVain, [...taken]]);
    return false;
  };
  return search(initial, answered.length, [initial]);
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
