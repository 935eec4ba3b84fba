// The database is unavailable: SQLSTATE class 08, shutdown, too many connections, a server that is not the primary, and
// the codes of Node's sockets when a server has gone down.
const LOST = new Set([
  ...['57P01', '57P02', '57P03', '53300', '25006'],
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EHOSTDOWN',
    'ENOTFOUND',
    'EAI_AGAIN',
  ],
]);
/**
 * Prisma's codes for an unavailable database: not reached, timed out, closed, no free connection, no transaction
 * started in time.
 */
const LOST_BY_PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** Prisma's driver reports these kinds for a raw statement that failed: such a failure has no Prisma code. */
const LOST_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);
const SAID =
  /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|not queryable|Client has encountered/i;

/** An error of the driver or of Prisma. */
export interface Thrown {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
  /** Where Prisma keeps its driver's error. */
  readonly meta?: {
    readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown; readonly kind?: unknown } };
  };
}

/** The code of a failure, from the server if it gave one, otherwise from the socket or Prisma. */
export const codeOf = ({ code, meta }: Thrown): unknown => meta?.driverAdapterError?.cause?.originalCode ?? code;

/**
 * True if an error of the driver or of Prisma means that the database is unavailable, not that the statement was wrong.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, message, errors, cause, meta } = error as Thrown;
  // The socket of a server that is not running is missing. Other missing files have other causes.
  if (code === 'ENOENT')
    return syscall === 'connect' || (typeof message === 'string' && message.includes('connect ENOENT'));
  if (LOST_KINDS.has(String(meta?.driverAdapterError?.cause?.kind))) return true;
  const failureCode = codeOf(error as Thrown);
  if (typeof failureCode === 'string') {
    return (
      LOST.has(failureCode) ||
      failureCode.startsWith('08') ||
      LOST_BY_PRISMA.has(failureCode) ||
      (cause !== error && isConnectionLoss(cause))
    );
  }
  // A host name with several addresses produces one error for each.
  if (Array.isArray(errors) && errors.some(isConnectionLoss)) return true;
  return (typeof message === 'string' && SAID.test(message)) || isConnectionLoss(cause);
}
