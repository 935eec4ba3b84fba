// Class 08, the shutdown codes, no room for a connection, a server that is not the primary (any more), and what node's
// sockets say when a server is gone.
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
/** The same in the words of Prisma: not reached, timed out, closed, no connection free, no transaction begun in time. */
const LOST_BY_PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** What Prisma's driver calls it when a statement sent as text fails: such a failure has no code of Prisma's. */
const LOST_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections']);
const SAID =
  /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|not queryable|Client has encountered/i;

/** What the driver or Prisma throws. */
export interface Thrown {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
  /** Where Prisma keeps what its driver said. */
  readonly meta?: {
    readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: unknown; readonly kind?: unknown } };
  };
}

/** What the server, the socket or Prisma called a failure; what the server said comes first. */
export const codeOf = ({ code, meta }: Thrown): unknown => meta?.driverAdapterError?.cause?.originalCode ?? code;

/** True when an error of the driver or of Prisma says that the database is away, not that the statement was wrong. */
export function isConnectionLoss(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, message, errors, cause, meta } = error as Thrown;
  // The socket of a server that is not there; any other file may be missing for other reasons.
  if (code === 'ENOENT')
    return syscall === 'connect' || (typeof message === 'string' && message.includes('connect ENOENT'));
  if (LOST_KINDS.has(String(meta?.driverAdapterError?.cause?.kind))) return true;
  const said = codeOf(error as Thrown);
  if (typeof said === 'string') {
    return (
      LOST.has(said) ||
      said.startsWith('08') ||
      LOST_BY_PRISMA.has(said) ||
      (cause !== error && isConnectionLoss(cause))
    );
  }
  // A host name with several addresses fails once for each of them.
  if (Array.isArray(errors) && errors.some(isConnectionLoss)) return true;
  return (typeof message === 'string' && SAID.test(message)) || isConnectionLoss(cause);
}
