import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';

/** Error codes of sockets and of the resolver that mean a failure of the other side or of the network. */
const OUTSIDE =
  /^(E(CONN|PIPE|TIMEDOUT|HOST|NET|ADDR|AI_|NOTFOUND|PROTO)|ERR_(SSL|TLS|HTTP2|STREAM|SOCKET)|UND_ERR|HPE_)/;

/** Whether an error comes from outside this process: a connection, a name that is not found, a bad peer. */
export function isOutside(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, cause } = error as { code?: unknown; syscall?: unknown; cause?: unknown };
  const network = syscall === 'connect' || syscall === 'read' || syscall === 'write' || syscall === 'getaddrinfo';
  return network || (typeof code === 'string' && OUTSIDE.test(code)) || (cause !== error && isOutside(cause));
}

/**
 * Keeps a process alive after some failures that no code handled. Each failure is logged and counted in
 * `process_unhandled_failures_total` by `kind`. The process survives a rejected promise and an error event of an
 * outside connection. Any other unhandled error leaves the process in an unknown state, so it ends with exit code 1 and
 * is replaced.
 */
export function surviveFailures(log: Pick<Logger, 'error' | 'fatal'>, registry?: Registry): void {
  const failures = new Counter({
    name: 'process_unhandled_failures_total',
    help: 'Failures that no code handled: rejected promises and errors of outside connections.',
    labelNames: ['kind'],
    registers: registry ? [registry] : [],
  });
  for (const kind of ['rejection', 'connection']) failures.inc({ kind }, 0);
  process.on('unhandledRejection', (error) => {
    failures.inc({ kind: 'rejection' });
    log.error({ err: error }, 'unhandled promise rejection');
  });
  process.on('uncaughtException', (error) => {
    if (!isOutside(error)) {
      log.fatal({ err: error }, 'an error was thrown past all handlers; the process ends');
      process.exit(1);
    }
    failures.inc({ kind: 'connection' });
    log.error({ err: error }, 'unhandled error of an outside connection');
  });
}
