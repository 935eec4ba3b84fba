import type { IncomingMessage } from 'node:http';
import { collectDefaultMetrics, type Metric, type Registry } from 'prom-client';
import { routeOf } from './route';

const bucketSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const labelLimit = 500;
/** Counts requests. `serve` calls it for each request. */
export interface RequestMetrics {
  begin(): void;
  end(req: IncomingMessage, status: number, seconds: number): void;
}

interface Series {
  readonly statuses: Map<number, number>;
  readonly buckets: number[];
  count: number;
  sum: number;
}

/**
 * Adds request metrics to a registry: `http_requests_total` by route and status, `http_request_duration_seconds` by
 * route, and `http_requests_in_flight`.
 *
 * Counting is a few additions on plain objects; they are converted for the registry only when it is scraped. Requests
 * without a label are counted under `other`, as is every label after the first 500.
 */
export function observe(registry: Registry): RequestMetrics {
  const series = new Map<string, Series>();
  let inFlight = 0;
  register(registry, 'http_requests_total', 'Requests answered.', 'counter', () =>
    [...series].flatMap(([label, { statuses }]) =>
      [...statuses].map(([status, value]) => ({ labels: { route: label, status: String(status) }, value })),
    ),
  );
  register(registry, 'http_requests_in_flight', 'Requests being answered now.', 'gauge', () => [
    { labels: {}, value: inFlight },
  ]);
  register(registry, 'http_request_duration_seconds', 'Time to answer, body included.', 'histogram', () =>
    [...series].flatMap(([label, one]) => histogram('http_request_duration_seconds', label, one)),
  );
  return {
    begin() {
      inFlight++;
    },
    end(req, status, seconds) {
      inFlight--;
      const one = seriesOf(series, routeOf(req));
      one.statuses.set(status, (one.statuses.get(status) ?? 0) + 1);
      one.count++;
      one.sum += seconds;
      let bucket = 0;
      while (bucket < bucketSeconds.length && seconds > bucketSeconds[bucket]!) bucket++;
      one.buckets[bucket]!++;
    },
  };
}

/** Adds the metrics of the process itself (memory, event loop, garbage collection) once per registry. */
export function observeProcess(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') === undefined)
    collectDefaultMetrics({ register: registry });
}

function seriesOf(series: Map<string, Series>, label: string): Series {
  const existing = series.get(label);
  if (existing !== undefined) return existing;
  if (series.size >= labelLimit && label !== 'other') return seriesOf(series, 'other');
  const created = { statuses: new Map(), buckets: new Array(bucketSeconds.length + 1).fill(0), count: 0, sum: 0 };
  series.set(label, created);
  return created;
}

interface Value {
  labels: Record<string, string | number>;
  value: number;
  metricName?: string;
}

function histogram(name: string, label: string, { buckets, count, sum }: Series): Value[] {
  let below = 0;
  const values: Value[] = bucketSeconds.map((le, i) => {
    below += buckets[i]!;
    return { metricName: `${name}_bucket`, labels: { le, route: label }, value: below };
  });
  values.push({ metricName: `${name}_bucket`, labels: { le: '+Inf', route: label }, value: count });
  values.push({ metricName: `${name}_sum`, labels: { route: label }, value: sum });
  values.push({ metricName: `${name}_count`, labels: { route: label }, value: count });
  return values;
}

// We do not use prom-client's own counters: they hash an object of labels at every observation, which costs more than
// logging the request.
function register(registry: Registry, name: string, help: string, type: string, values: () => Value[]): void {
  const metric = {
    name,
    help,
    aggregator: 'sum',
    get: async () => ({ name, help, type, aggregator: 'sum', values: values() }),
    reset: () => undefined,
  };
  registry.registerMetric(metric as unknown as Metric);
}
