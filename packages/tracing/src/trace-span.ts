/** What may be said of a span: names of ours and numbers, never what a caller sent or what was stored. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The span kinds of OpenTelemetry. */
export type SpanKind = 'internal' | 'server' | 'client';

/** A piece of work in a trace. */
export interface TraceSpan {
  readonly traceId: string;
  /** The `traceparent` header that says that what is called belongs to it (W3C Trace Context). */
  readonly traceparent: string;
  /** A piece of this work; `links` name what it is done for besides. */
  child(name: string, kind: SpanKind, attributes?: Attributes, links?: readonly TraceSpan[]): TraceSpan;
  rename(name: string): void;
  set(attributes: Attributes): void;
  end(failed: boolean): void;
}

/** Makes traces and sends them where they are collected. */
export interface Tracing {
  /**
   * The span of work that begins here, under the `traceparent` that it came with; undefined if it is not to be traced: it
   * came with none, or with one that is malformed, and was not chosen.
   */
  begin(name: string, kind: SpanKind, traceparent: string | undefined): TraceSpan | undefined;
  /** Sends what is left, for some seconds at most. */
  close(): Promise<void>;
}

/** Where traces go, and of what. */
export interface TracingOptions {
  /** OTLP over HTTP, for example `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How many of those that come with no word on it are traced, from 0 to 1; below 1 at most 20 a second. */
  readonly share: number;
  /** The name of the service, and its version. */
  readonly service: string;
  readonly version: string;
  /** Told, once in a while, why traces did not get there. */
  readonly onFailure: (error: Error | undefined) => void;
}
