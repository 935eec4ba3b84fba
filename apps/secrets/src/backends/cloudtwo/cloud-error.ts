import { Refusal } from '@keystead/refusal';

interface ProviderError extends Error {
  readonly Code?: string;
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
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

/** The provider's own code of a failed call, such as `NoSuchEntity`; empty where it never answered. */
export function codeOf(error: unknown): string {
  const failed = error as ProviderError;
  if (!failed.$metadata?.httpStatusCode) return '';
  return failed.Code ?? failed.name.replace(/Exception$/, '');
}

/** True where the provider says that what was named does not exist. */
export function isGone(error: unknown): boolean {
  return codeOf(error) === 'NoSuchEntity';
}

/**
 * A failed call as the caller may read it: `<doing>: <Code>: <message>` with the provider's status. A refused request
 * is `invalid` (400); being denied, throttled or not answered is `upstream` (502).
 */
export function cloudRefusal(doing: string, error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const failed = error as ProviderError;
  const code = codeOf(error);
  if (code === '') {
    const reason = failed.code ?? failed.name;
    return new Refusal('upstream', `${doing}: the cloud provider cannot be reached: ${reason}`, [], { cause: error });
  }
  const { httpStatusCode: status = 0, requestId = '' } = failed.$metadata ?? {};
  const text = `${doing}: ${code}: ${failed.message}\n\tstatus code: ${status}, request id: ${requestId}`;
  const upstream = throttling.has(code) || notOurs.has(code) || status >= 500;
  return new Refusal(upstream ? 'upstream' : 'invalid', text, [], { cause: error });
}

/** Runs one call and turns its failure into a refusal that begins with `doing`. */
export async function attempt<T>(doing: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw cloudRefusal(doing, error);
  }
}
