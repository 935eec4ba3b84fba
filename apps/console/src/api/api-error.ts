/** One problem in a request, and where it is. */
export interface ApiIssue {
  readonly detail: string;
  /** The name of the field or a JSON pointer, if the service sent one. */
  readonly field?: string | undefined;
  readonly code?: string | undefined;
}

/** The request that the service refused. */
export interface Refused {
  readonly method: string;
  /** The path with its query, as sent. */
  readonly path: string;
}

/** The refusal of a request, with the service's message. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly issues: readonly ApiIssue[],
    /** Data in the response: for a deleted object, its remaining metadata. */
    readonly body?: unknown,
    readonly refused?: Refused,
  ) {
    super(issues.map(({ detail }) => detail).join('; ') || meaningOf(status));
  }

  /** The message for one field. The field is the last part of a JSON pointer. */
  of(field: string): string | undefined {
    return this.issues.find((issue) => issue.field === field || issue.field?.endsWith(`/${field}`))?.detail;
  }

  has(code: string): boolean {
    return this.issues.some((issue) => issue.code === code);
  }
}

/** Whether the service refused the request because of missing permissions. */
export const isDenied = (error: unknown): boolean => error instanceof ApiError && error.status === 403;

function meaningOf(status: number): string {
  if (status === 401) return 'You are signed out: sign in again.';
  if (status === 403) return 'You do not have permission for this.';
  if (status === 404) return 'This does not exist, or you may not see it.';
  if (status === 429) return 'Too many requests: wait a moment.';
  return `The service answered ${status}.`;
}

/** Reads the errors of both services: strings, or objects with a detail and a pointer. */
export function readError(status: number, body: unknown, refused?: Refused): ApiError {
  const errors = (body as { errors?: unknown } | null | undefined)?.errors;
  const issues = Array.isArray(errors) ? errors.map(readIssue) : [];
  return new ApiError(status, issues, body, refused);
}

/** One string may list several numbered errors. Only the message of each is shown. */
const withoutCount = (text: string): string =>
  text.replace(/^\d+ errors? occurred:\s*\* /, '').replace(/\n\s*\* /g, '; ');

function readIssue(error: unknown): ApiIssue {
  if (typeof error === 'string') return { detail: withoutCount(error) };
  const { title, detail, field, code, source } = error as Record<string, unknown>;
  const pointer = (source as { pointer?: unknown } | undefined)?.pointer;
  return {
    detail: String(detail ?? title ?? 'refused'),
    field: typeof field === 'string' ? field : typeof pointer === 'string' ? pointer : undefined,
    code: typeof code === 'string' ? code : undefined,
  };
}
