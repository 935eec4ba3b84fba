import type { Tracing, TracingOptions } from './trace-span';

/**
 * Starts tracing. Returns undefined if no URL is configured. The SDK is loaded only when tracing starts. A log line
 * reports when traces are lost, and another when they arrive again.
 */
export function startTracing(
  options: Omit<TracingOptions, 'onFailure'> | undefined,
  log: { warn(fields: object, message: string): void; info(message: string): void },
): Tracing | undefined {
  if (options === undefined) return undefined;
  const { OpenTelemetry } = require('./open-telemetry') as typeof import('./open-telemetry');
  let failing = false;
  return new OpenTelemetry({
    ...options,
    onFailure(error) {
      if (error && !failing) log.warn({ err: error }, 'traces cannot be sent and are lost');
      if (!error && failing) log.info('traces are sent again');
      failing = error !== undefined;
    },
  });
}
