import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { isOutside, surviveFailures } from './unhandled';

/** The listeners that a call adds to this process; they are removed again. */
function listenersOf(registry: Registry) {
  const lines: [string, unknown][] = [];
  const log = {
    error: (_fields: object, message: string) => void lines.push(['error', message]),
    fatal: (_fields: object, message: string) => void lines.push(['fatal', message]),
  };
  const before = ['unhandledRejection', 'uncaughtException'].map((event) => process.listeners(event as never));
  surviveFailures(log as never, registry);
  const [rejection, exception] = ['unhandledRejection', 'uncaughtException'].map((event, index) => {
    const added = process.listeners(event as never).find((one) => !before[index]!.includes(one))!;
    process.removeListener(event, added as never);
    return added as (error: unknown) => void;
  });
  return { lines, rejection: rejection!, exception: exception! };
}

describe('failures that no code handled', () => {
  it('are logged and counted, and do not end the process', async () => {
    const registry = new Registry();
    const { lines, rejection, exception } = listenersOf(registry);
    rejection(new TypeError('x is not a function'));
    exception(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' }));
    expect(lines.map(([level]) => level)).toEqual(['error', 'error']);
    const text = await registry.metrics();
    expect(text).toContain('process_unhandled_failures_total{kind="rejection"} 1');
    expect(text).toContain('process_unhandled_failures_total{kind="connection"} 1');
  });

  it.each<[unknown, boolean]>([
    [Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }), true],
    [Object.assign(new Error(), { code: 'ENOTFOUND', syscall: 'getaddrinfo' }), true],
    [Object.assign(new Error(), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' }), true],
    [new Error('a wrapper', { cause: Object.assign(new Error(), { code: 'EPIPE', syscall: 'write' }) }), true],
    [Object.assign(new Error(), { code: 'ENOENT', syscall: 'open' }), false],
    [Object.assign(new Error(), { code: 'ERR_INVALID_ARG_TYPE' }), false],
    [new TypeError('x is not a function'), false],
    [undefined, false],
  ])('come from outside or not: %p', (error, outside) => {
    expect(isOutside(error)).toBe(outside);
  });
});
