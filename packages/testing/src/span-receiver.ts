import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it was sent. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Ids of the spans that it links to. */
  readonly links: readonly string[];
  /** 2 if it failed. */
  readonly status: number;
}

/** Receives spans by OTLP over HTTP, as JSON. */
export interface SpanReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** All received bodies. */
  readonly text: () => string;
  /** The headers of each request. */
  readonly headers: http.IncomingHttpHeaders[];
  /** Sets the status of further answers. */
  answer(status: number): void;
  close(): Promise<void>;
}

interface SentValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

interface SentAttribute {
  readonly key: string;
  readonly value: SentValue;
}

interface Sent {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly SentAttribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly kind: number;
        readonly attributes?: readonly SentAttribute[];
        readonly links?: readonly { readonly spanId: string }[];
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
}

/** Starts a trace receiver on a free loopback port. */
export async function spanReceiver(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const headers: http.IncomingHttpHeaders[] = [];
  let status = 200;
  const server = http.createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    headers.push(req.headers);
    if (status === 200) {
      bodies.push(body);
      spans.push(...spansOf(JSON.parse(body) as Sent));
    }
    res.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    text: () => bodies.join('\n'),
    headers,
    answer(next) {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansOf({ resourceSpans = [] }: Sent): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans
      .flatMap((scope) => scope.spans)
      .map((span) => ({
        service,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        attributes: valuesOf(span.attributes ?? []),
        links: (span.links ?? []).map(({ spanId }) => spanId),
        status: span.status?.code ?? 0,
      }));
  });
}

function valuesOf(attributes: readonly SentAttribute[]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? value.boolValue ?? Number(value.intValue),
    ]),
  );
}
