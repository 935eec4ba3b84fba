import { Refusal } from '@keystead/refusal';
import { NotNow, Unreachable } from './outside';

interface ProviderError extends Error {
  readonly Code?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string; readonly attempts?: number };
}

const throttling = new Set([
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'RequestLimitExceeded',
  'SlowDown',
]);
const notOurs = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
]);
/** Statuses that a proxy also sends if it cannot reach the provider. */
const fromBefore = new Set([502, 503, 504]);

/** How long an account is not called if it throttles us even after the retries of the provider's library. */
const throttledRestMs = 10_000;

/** The provider's error code for a failed call, such as `NoSuchEntity`; empty if the provider did not answer. */
export function codeOf(error: unknown): string {
  const failed = error as ProviderError;
  if (!failed.$metadata?.httpStatusCode) return '';
  return failed.Code ?? failed.name.replace(/Exception$/, '');
}

/** True if the provider says that the named thing does not exist. */
export function isGone(error: unknown): boolean {
  return codeOf(error) === 'NoSuchEntity';
}

/**
 * The error for the caller after a failed call: `<doing>: <Code>: <message>` with the provider's status. A refused
 * request becomes `invalid` (400). A denied, throttled or unanswered request becomes `upstream` (502).
 */
export function cloudRefusal(doing: string, error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const failed = error as ProviderError;
  const code = codeOf(error);
  if (code === '') {
    const late = failed.name === 'AbortError' || failed.name === 'TimeoutError';
    const reason = late ? 'no answer in time' : (failed.code ?? failed.name);
    return new Unreachable(`${doing}: the cloud provider cannot be reached: ${reason}`, error);
  }
  const { httpStatusCode: status = 0, requestId = '' } = failed.$metadata ?? {};
  if (status < 400) {
    const what = `an invalid response (${failed.name}, status code: ${status})`;
    return new Refusal('upstream', `${doing}: the cloud provider answered ${what}`, [], { cause: error });
  }
  const text = `${doing}: ${code}: ${failed.message}\n\tstatus code: ${status}, request id: ${requestId}`;
  if (throttling.has(code) || status === 429) return new NotNow(text, throttledRestMs, error);
  if (fromBefore.has(status)) return new Unreachable(text, error);
  const upstream = notOurs.has(code) || status >= 500;
  return new Refusal(upstream ? 'upstream' : 'invalid', text, [], { cause: error });
}

/** True if the call was attempted once and refused, so nothing was created. */
export function wasRefused(error: unknown): boolean {
  const { httpStatusCode: status = 0, attempts = 0 } = ((error as Error).cause as ProviderError)?.$metadata ?? {};
  return attempts === 1 && status >= 400 && status < 500;
}

/** Runs one call and turns its failure into a refusal that begins with `doing`. */
export async function attempt<T>(doing: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw cloudRefusal(doing, error);
  }
}
