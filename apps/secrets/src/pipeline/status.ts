import type { RefusalKind } from '@keystead/refusal';

/** The one table from kinds of refusal to statuses. */
export const statusOf: Readonly<Record<RefusalKind, number>> = {
  malformed: 400,
  unauthenticated: 403,
  denied: 403,
  missing: 404,
  'unsupported-path': 404,
  'unsupported-operation': 405,
  conflict: 400,
  transition: 400,
  precondition: 412,
  'too-large': 413,
  late: 408,
  'media-type': 415,
  invalid: 400,
  limited: 429,
  sealed: 503,
  'not-initialised': 503,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
  'cap-exceeded': 500,
};
