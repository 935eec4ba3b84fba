import type { Operations } from './operations';
import type { FuzzRequest } from './requests';
import type { Answer, NoAnswer } from './wire';

/** Statuses of HTTP itself, which no operation lists: they come before the operation is known. */
const ofHttp: ReadonlySet<number> = new Set([400, 405, 408, 411, 413, 414, 415, 417, 426, 431]);
const unanswered: Readonly<Record<NoAnswer, string>> = {
  closed: 'the connection was closed without an answer',
  cut: 'the connection was closed within an answer',
  silent: 'no answer came',
  malformed: 'what came is not an HTTP answer',
};

/** The fault in the answer to a request; undefined if there is none. The same fault has the same text. */
export function faultOf(operations: Operations, request: FuzzRequest, answer: Answer | NoAnswer): string | undefined {
  if (typeof answer === 'string') return unanswered[answer];
  const { operation, astray } = request;
  const { status } = answer;
  const documented = operation.statuses.has(status);
  if (status >= 500) {
    // Operations that call another system list 502; that system may be unavailable.
    if (status === 502 && documented) return undefined;
    const expectedStatus = astray
      ? operations.documented.has(status)
      : operations.faults[operation.name]?.includes(status);
    return expectedStatus ? undefined : `answered ${status}`;
  }
  if (documented) {
    // Fields that were not requested are left out of an answer.
    if (astray || request.query.some(([name]) => name.startsWith('fields['))) return undefined;
    const misfit = operations.misfit(operation, answer);
    return misfit && `answered ${status} with ${misfit}`;
  }
  if (astray && (ofHttp.has(status) || operations.statuses.has(status) || (status > 300 && status < 309)))
    return undefined;
  return `answered ${status}, which is not documented`;
}

/**
 * The fault in the answers to bytes that are not a single valid request. Checks the number of answers and their
 * statuses.
 */
export function judgeRaw(
  operations: Operations,
  expected: { readonly atMost: number; readonly exactly?: readonly number[] },
  answers: readonly Answer[],
  ended: NoAnswer,
): string | undefined {
  if (ended !== 'closed') return unanswered[ended];
  const statuses = answers.map(({ status }) => status);
  const fault = statuses.find((status) => status >= 500 && status !== 502 && !operations.documented.has(status));
  if (fault !== undefined) return `answered ${fault}`;
  if (expected.exactly && String(statuses) !== String(expected.exactly)) {
    return 'answered something else than each of its requests by itself';
  }
  if (answers.length > expected.atMost) return `answered ${answers.length} times, at most ${expected.atMost} were due`;
  const odd = statuses.find(
    (status) => !ofHttp.has(status) && !operations.statuses.has(status) && (status < 300 || status > 308),
  );
  return odd === undefined ? undefined : `answered ${odd}, which no operation documents`;
}
