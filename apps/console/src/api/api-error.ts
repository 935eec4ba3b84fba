/** One thing that is wrong, and where. */
export interface ApiIssue {
  readonly detail: string;
  /** Name of the field, or JSON pointer, where the service named one. */
  readonly field?: string | undefined;
  readonly code?: string | undefined;
}

/** What was asked for when a service said no. */
export interface Refused {
  readonly method: string;
  /** With its query, as it was sent. */
  readonly path: string;
}

/** A "no" of a service, in its own words. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly issues: readonly ApiIssue[],
    /** What came with it: of something that was deleted, what is still known. */
    readonly body?: unknown,
    readonly refused?: Refused,
  ) {
    super(issues.map(({ detail }) => detail).join('; ') || meaningOf(status));
  }

  /** What is wrong with one field, which is the last part of a JSON pointer. */
  of(field: string): string | undefined {
    return this.issues.find((issue) => issue.field === field || issue.field?.endsWith(`/${field}`))?.detail;
  }

  has(code: string): boolean {
    return this.issues.some((issue) => issue.code === code);
  }
}

/** Whether the service refused because of missing rights. */
export const isDenied = (error: unknown): boolean => error instanceof ApiError && error.status === 403;

function meaningOf(status: number): string {
  if (status === 401) return 'You are signed out: sign in again.';
  if (status === 403) return 'You do not have permission for this.';
  if (status === 404) return 'This does not exist, or you may not see it.';
  if (status === 429) return 'Too many requests: wait a moment.';
  return `The service answered ${status}.`;
}

/** Reads the errors of either service: plain texts, or objects with a detail and a pointer. */
export function readError(status: number, body: unknown, refused?: Refused): ApiError {
  const errors = (body as { errors?: unknown } | null | undefined)?.errors;
  const issues = Array.isArray(errors) ? errors.map(readIssue) : [];
  return new ApiError(status, issues, body, refused);
}

/** Several faults may be counted and listed in one text: the words of each are meant for people. */
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
