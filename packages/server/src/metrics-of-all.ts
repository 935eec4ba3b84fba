import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Receiver } from './shared-port';

const ANSWER_MS = 2000;

/** Lets the parent process ask for this process's metrics, with a label `process`. */
export function lendMetrics(registry: Registry): void {
  registry.setDefaultLabels({ process: cluster.worker!.id });
  process.on('message', async ({ type, id }: MetricsMessage) => {
    if (type === 'metrics:ask') tell({ type: 'metrics:tell', id, values: await registry.getMetricsAsJSON() });
  });
}

/** The metrics of this process, or of all processes if there are several, as text for Prometheus. */
export function metricsOfAll(registry: Registry): Promise<string> {
  return cluster.isWorker ? askForAll() : registry.metrics();
}

type MetricsMessage =
  | { readonly type: 'metrics:ask' | 'metrics:ask-all'; readonly id: string }
  | { readonly type: 'metrics:tell'; readonly id: string; readonly values: MetricValues }
  | { readonly type: 'metrics:tell-all'; readonly id: string; readonly text: string };
type MetricValues = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

const tell = (message: MetricsMessage) => process.connected && process.send!(message);

function askForAll(): Promise<string> {
  const id = randomUUID();
  return new Promise((resolve) => {
    const hear = (message: MetricsMessage) => {
      if (message.type !== 'metrics:tell-all' || message.id !== id) return;
      process.off('message', hear);
      resolve(message.text);
    };
    process.on('message', hear);
    tell({ type: 'metrics:ask-all', id });
  });
}

/** Collects the metrics of all processes. Leaves out processes that do not answer in time. */
export class Gathering {
  private readonly pending = new Map<string, (values: MetricValues) => void>();

  constructor(private readonly from: () => readonly Receiver[]) {}

  async metrics(): Promise<string> {
    const all = await Promise.all(this.from().map((receiver) => this.ask(receiver)));
    return AggregatorRegistry.aggregate(all.filter((values) => values !== undefined)).metrics();
  }

  async hear(from: Receiver, message: MetricsMessage): Promise<void> {
    if (message.type === 'metrics:tell') this.pending.get(message.id)?.(message.values);
    if (message.type !== 'metrics:ask-all') return;
    const text = await this.metrics();
    const answer: MetricsMessage = { type: 'metrics:tell-all', id: message.id, text };
    if (from.isConnected()) from.send(answer, undefined, undefined, () => undefined);
  }

  private ask(receiver: Receiver): Promise<MetricValues | undefined> {
    const id = randomUUID();
    return new Promise((resolve) => {
      const settle = (values?: MetricValues) => {
        clearTimeout(late);
        this.pending.delete(id);
        resolve(values);
      };
      const late = setTimeout(settle, ANSWER_MS);
      this.pending.set(id, settle);
      const message: MetricsMessage = { type: 'metrics:ask', id };
      receiver.send(message, undefined, undefined, (error) => error && settle());
    });
  }
}
