import { randomUUID } from 'node:crypto';
import {
  type Context,
  SpanKind as Kind,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Attributes, SpanKind, TraceSpan, Tracing, TracingOptions } from './trace-span';
import { passedOn, readTraceparent } from './traceparent';

const kinds: Readonly<Record<SpanKind, Kind>> = { internal: Kind.INTERNAL, server: Kind.SERVER, client: Kind.CLIENT };
const closeMs = 5000;
const exportMs = 10_000;
const chosenPerSecond = 20;

/**
 * Traces by the OpenTelemetry SDK, sent in batches. Failed batches are retried for a while and then dropped; no request
 * waits for them. Sampling is decided first, so untraced requests cost nothing. The number of sampled requests per
 * second is limited, so that a busy node does not spend its time on traces.
 */
export class OpenTelemetry implements Tracing {
  private readonly provider: BasicTracerProvider;
  private readonly tracer: Tracer;
  private readonly bucket = { tokens: chosenPerSecond, sinceMs: performance.now() };

  constructor(private readonly options: TracingOptions) {
    const { service, version, url, headers, onFailure } = options;
    this.provider = new BasicTracerProvider({
      sampler: new AlwaysOnSampler(),
      resource: resourceFromAttributes({
        'service.name': service,
        'service.version': version,
        'service.instance.id': randomUUID(),
      }),
      forceFlushTimeoutMillis: closeMs,
      spanProcessors: [
        new BatchSpanProcessor(
          new ToldExporter(new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: exportMs }), onFailure),
          { maxQueueSize: 8192, maxExportBatchSize: 512, scheduledDelayMillis: 2000, exportTimeoutMillis: exportMs },
        ),
      ],
    });
    this.tracer = this.provider.getTracer('keystead', version);
  }

  begin(name: string, kind: SpanKind, traceparent: string | undefined): TraceSpan | undefined {
    const parent = traceparent === undefined ? undefined : readTraceparent(traceparent);
    if (parent && !parent.sampled) return passedOn(parent);
    if (!parent && !this.chooses()) return undefined;
    const context = parent
      ? trace.setSpanContext(ROOT_CONTEXT, {
          traceId: parent.traceId,
          spanId: parent.spanId,
          traceFlags: 1,
          isRemote: true,
        })
      : ROOT_CONTEXT;
    return new RecordedSpan(this.tracer, this.tracer.startSpan(name, { kind: kinds[kind] }, context));
  }

  private chooses(): boolean {
    const { share } = this.options;
    if (share >= 1) return true;
    if (Math.random() >= share) return false;
    const nowMs = performance.now();
    const { tokens, sinceMs } = this.bucket;
    this.bucket.tokens = Math.min(chosenPerSecond, tokens + ((nowMs - sinceMs) * chosenPerSecond) / 1000);
    this.bucket.sinceMs = nowMs;
    if (this.bucket.tokens < 1) return false;
    this.bucket.tokens -= 1;
    return true;
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([this.provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}

class RecordedSpan implements TraceSpan {
  private context: Context | undefined;

  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
  ) {}

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }

  child(name: string, kind: SpanKind, attributes?: Attributes, links: readonly TraceSpan[] = []): TraceSpan {
    this.context ??= trace.setSpan(ROOT_CONTEXT, this.span);
    const recorded = links.flatMap((link) =>
      link instanceof RecordedSpan ? [{ context: link.span.spanContext() }] : [],
    );
    const options = { kind: kinds[kind], attributes: attributes && { ...attributes }, links: recorded };
    return new RecordedSpan(this.tracer, this.tracer.startSpan(name, options, this.context));
  }

  rename(name: string): void {
    this.span.updateName(name);
  }

  set(attributes: Attributes): void {
    this.span.setAttributes({ ...attributes });
  }

  end(failed: boolean): void {
    if (failed) this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }
}

/** Reports the outcome of each batch. */
class ToldExporter implements SpanExporter {
  constructor(
    private readonly exporter: SpanExporter,
    private readonly report: (error: Error | undefined) => void,
  ) {}

  export(spans: ReadableSpan[], callback: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      this.report(result.code === ExportResultCode.SUCCESS ? undefined : (result.error ?? new Error('not taken')));
      callback(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.exporter.forceFlush?.();
  }
}
