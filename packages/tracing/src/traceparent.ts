import type { TraceSpan } from './trace-span';

/** The ids of a `traceparent`, in hexadecimal digits, and whether the sender records the trace. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const nothing = /^0+$/;

/** Reads the header of W3C Trace Context, level 1 or later; undefined if it is malformed. */
export function readTraceparent(text: string | undefined): TraceParent | undefined {
  if (text === undefined || text.length > 512) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (nothing.test(traceId) || nothing.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/**
 * A span for a trace that the caller started but does not record. Its ids are passed on to outside systems, and it is
 * not recorded here either.
 */
export function passedOn({ traceId, spanId }: TraceParent): TraceSpan {
  const span: TraceSpan = {
    traceId,
    traceparent: `00-${traceId}-${spanId}-00`,
    child: () => span,
    rename: () => undefined,
    set: () => undefined,
    end: () => undefined,
  };
  return span;
}
