import { Refusal } from '@keystead/refusal';
import type { Reply } from '../../../sdk/reply';

/** Error types of RFC 8555 and RFC 9773 with their HTTP statuses. */
const statuses = {
  accountDoesNotExist: 400,
  alreadyReplaced: 409,
  alreadyRevoked: 400,
  badCSR: 400,
  badNonce: 400,
  badPublicKey: 400,
  badRevocationReason: 400,
  badSignatureAlgorithm: 400,
  conflict: 409,
  connection: 400,
  dns: 400,
  externalAccountRequired: 401,
  invalidContact: 400,
  incorrectResponse: 403,
  malformed: 400,
  orderNotReady: 403,
  rateLimited: 429,
  rejectedIdentifier: 400,
  serverInternal: 500,
  tls: 400,
  unauthorized: 401,
  unsupportedContact: 400,
  unsupportedIdentifier: 400,
  userActionRequired: 403,
} as const;
export type ProblemKind = keyof typeof statuses;

/** The response of an operation that may answer with a problem document. */
export const problems = {
  refusalMedia: 'application/problem+json',
  responses: {
    401: 'The account, its key or its order does not allow this request.',
    409: 'The object already exists, or was already replaced.',
    500: 'The mount is not configured for ACME.',
  },
} as const;

/** A problem document, also used for challenge errors. */
export interface ProblemText {
  readonly type: string;
  readonly detail: string;
}

/** Builds a problem document. */
export const problemText = (kind: ProblemKind, detail: string): ProblemText => ({
  type: `urn:ietf:params:acme:error:${kind === 'conflict' ? 'malformed' : kind}`,
  detail,
});

/** An error answered as an ACME problem document. */
export class AcmeProblem extends Refusal {
  constructor(
    readonly problem: ProblemKind,
    detail: string,
    /** Headers of the response. */
    readonly headers: Readonly<Record<string, string>> = {},
    /** Problems of individual names. */
    readonly subproblems: readonly object[] = [],
  ) {
    super('invalid', detail);
  }
}

export function fail(kind: ProblemKind, detail: string, headers?: Readonly<Record<string, string>>): never {
  throw new AcmeProblem(kind, detail, headers);
}

/** Runs `run` and turns its refusals into this kind of problem. */
export async function asProblem<T>(kind: ProblemKind, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || error instanceof AcmeProblem || error.kind !== 'invalid') throw error;
    return fail(kind, error.message);
  }
}

/** The response for a refusal; other errors are rethrown. */
export function problemReply(error: unknown, headers: Readonly<Record<string, string>>): Reply {
  if (!(error instanceof Refusal) || (error.kind !== 'invalid' && error.kind !== 'malformed')) throw error;
  const refusal = error instanceof AcmeProblem ? error : new AcmeProblem('malformed', error.message);
  const { problem, subproblems } = refusal;
  return {
    kind: 'raw',
    status: statuses[problem],
    body: { ...problemText(problem, refusal.message), ...(subproblems.length > 0 && { subproblems }) },
    contentType: problems.refusalMedia,
    headers: { ...headers, ...refusal.headers },
  };
}
