/** Attributes of a span: our own names, and numbers; never values from a caller or from storage. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The span kinds of OpenTelemetry. */
export type SpanKind = 'internal' | 'server' | 'client';

/** A piece of work in a trace. */
export interface TraceSpan {
  readonly traceId: string;
  /** The `traceparent` header for calls that belong to this span (W3C Trace Context). */
  readonly traceparent: string;
  /** A child span; `links` names the other spans for which it works. */
  child(name: string, kind: SpanKind, attributes?: Attributes, links?: readonly TraceSpan[]): TraceSpan;
  rename(name: string): void;
  set(attributes: Attributes): void;
  end(failed: boolean): void;
}

/** Makes traces and sends them to a collector. */
export interface Tracing {
  /**
   * The span of work that starts here, below the `traceparent` of its request; undefined if it is not traced: the
   * header is absent or malformed, and the work was not sampled.
   */
  begin(name: string, kind: SpanKind, traceparent: string | undefined): TraceSpan | undefined;
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}

/** Where traces are sent, and what is traced. */
export interface TracingOptions {
  /** OTLP over HTTP, for example `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The share of requests without `traceparent` that are traced, from 0 to 1; if it is below 1, at most 20 requests a
   * second.
   */
  readonly share: number;
  /** The name of the service, and its version. */
  readonly service: string;
  readonly version: string;
  /** Called from time to time with the reason why traces were not sent. */
  readonly onFailure: (error: Error | undefined) => void;
}
