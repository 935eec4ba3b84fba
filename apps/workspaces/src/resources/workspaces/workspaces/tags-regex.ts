import { RE2JS } from 're2js';

/** The maximum number of states of the automaton for an expression, in which repeated parts are written out. */
const mostSteps = 5_000;

/** Why an expression for version tags cannot be used; undefined if it can. The syntax allows no backtracking. */
export function requireRegex(expression: string): string | undefined {
  if (stepsOf(expression) > mostSteps) return `repeats too much (maximum is ${mostSteps} steps)`;
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch {
    return 'is not a valid regular expression';
  }
}

// A group without a closing bracket extends to the end, so that nothing is read twice.
const atom = /\\[pP]\{[^}]*(?:\}|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*(?:\]|\\?$)|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/**
 * The approximate number of states of an expression, before it is compiled. Every repetition multiplies what it
 * repeats.
 */
function stepsOf(expression: string): number {
  const open: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [text, least, most] of expression.matchAll(atom)) {
    if (text === '(') {
      open.push(sum);
      sum = 0;
      last = 0;
    } else if (text === ')') {
      last = sum + 1;
      sum = (open.pop() ?? 0) + last;
    } else if (least !== undefined) {
      const times = Math.max(Number(least), Number(most || 0), 1);
      sum += last * (times - 1);
      last *= times;
    } else {
      last = 1;
      sum += 1;
    }
  }
  return open.reduce((total, outer) => total + outer, sum);
}
