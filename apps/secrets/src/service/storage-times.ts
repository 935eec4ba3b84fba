import { Histogram, type Registry } from 'prom-client';
import type { ObserveStorage } from '../kernel/storage/database';

const OPERATIONS = ['read', 'commit', 'list'] as const;

/** A histogram of storage times: uncached reads, listings, and shared commits. */
export function storageTimes(registry: Registry): ObserveStorage {
  const histogram = new Histogram({
    name: 'secrets_storage_seconds',
    help: 'Time the database took to read entries that were not cached, to list, and to commit. Writes share commits.',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  // All operations are present from the start, so that rates include the first of each.
  for (const operation of OPERATIONS) histogram.zero({ operation });
  const series = new Map(OPERATIONS.map((operation) => [operation, histogram.labels(operation)]));
  return (operation, seconds) => series.get(operation)!.observe(seconds);
}
