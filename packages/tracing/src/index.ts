export { type Asked, Course, currentCourse, during, follow, step, type TimeUse, together } from './course';
export { readHeaders } from './settings';
export { startTracing } from './start-tracing';
export type { Attributes, SpanKind, TraceSpan, Tracing, TracingOptions } from './trace-span';
