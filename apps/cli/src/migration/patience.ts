const LONGEST_WAIT_MS = 60_000;
/** Larger numbers are Unix times, smaller ones are seconds to wait. */
const LONGEST_SPAN_S = 1_000_000;
const ATTEMPTS = { limited: 30, fault: 6 };

/** Whether to repeat a request after this answer, after `attempt` attempts. */
export function isWorthRepeating(method: string, status: number, attempt: number): boolean {
  if (status === 429) return attempt < ATTEMPTS.limited;
  // A throttled request was not carried out. A create that failed for another reason is never sent twice.
  const transientStatuses = method === 'GET' ? [500, 502, 503, 504] : [503];
  return transientStatuses.includes(status) && attempt < ATTEMPTS.fault;
}

/** Whether to repeat a request without an answer. */
export function isWorthAskingAgain(method: string, attempt: number): boolean {
  return method === 'GET' && attempt < ATTEMPTS.fault;
}

/** Milliseconds to wait: the time that the response requests, otherwise increasing times. */
export function waitOf(headers: Headers | undefined, attempt: number, now = Date.now()): number {
  const requestedSeconds =
    secondsOf(headers?.get('retry-after'), now) ?? secondsOf(headers?.get('x-ratelimit-reset'), now);
  return Math.min(requestedSeconds === undefined ? 250 * 2 ** attempt : requestedSeconds * 1000, LONGEST_WAIT_MS);
}

/** Servers send a number of seconds, a Unix time, or a date. */
function secondsOf(headerValue: string | null | undefined, now: number): number | undefined {
  if (!headerValue) return undefined;
  const number = Number(headerValue);
  const seconds = Number.isNaN(number) ? (Date.parse(headerValue) - now) / 1000 : number;
  const span = seconds > LONGEST_SPAN_S ? seconds - now / 1000 : seconds;
  return Number.isFinite(span) && span > 0 ? span : undefined;
}
