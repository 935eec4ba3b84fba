import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { anything, bool, duration, int, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';

/** A quota as its administration sees it. */
export interface QuotaFacts {
  readonly name: string;
  readonly kind: 'rate-limit' | 'lease-count';
  readonly writtenPath: string;
  readonly role: string;
  readonly inheritable: boolean;
  readonly rate?: number;
  readonly intervalSeconds?: number;
  readonly blockSeconds?: number;
  readonly maxLeases?: number;
}

/** What is asked for; the port finds out what the path means. */
export type QuotaRequest = { readonly path: string } & Omit<QuotaFacts, 'writtenPath'>;

/** Limits on requests and leases. The first argument is always the namespace they are written in, and have their name in. */
export interface QuotaPort {
  list(namespaceId: string, kind: QuotaFacts['kind']): Promise<string[]>;
  find(
    namespaceId: string,
    kind: QuotaFacts['kind'],
    name: string,
  ): Promise<{ quota: QuotaFacts; leases: number } | undefined>;
  /** Throws `invalid` for a path that leads nowhere. */
  put(namespaceId: string, quota: QuotaRequest): Promise<void>;
  delete(namespaceId: string, kind: QuotaFacts['kind'], name: string): Promise<void>;
}

const where = () =>
  string()
    .optional()
    .describe(
      'Namespace below, mount, or a path below a mount (a final `*` stands for any rest); empty for the whole namespace.',
    );
const inheritable = () => bool().optional().describe('Whether namespaces below count as well.');

/** `sys/quotas`: rate limits count on each node for itself, lease counts over all nodes. */
export function quotaPaths(quotas: QuotaPort) {
  return [
    path('quotas/rate-limit', {
      summary: 'Rate limits.',
      list: {
        summary: 'List rate limits.',
        operationId: 'rate-limit-quotas-list',
        run: async ({ namespace }) => keys(await quotas.list(namespace.uuid, 'rate-limit')),
      },
    }),
    path('quotas/rate-limit/:name', {
      summary: 'How often clients may ask; each node counts for itself.',
      paramDocs: { name: 'Name of the limit.' },
      read: {
        summary: 'Read a rate limit.',
        operationId: 'rate-limit-quotas-read',
        auditClear: 'all',
        async run({ params, namespace }) {
          const found = await quotas.find(namespace.uuid, 'rate-limit', params.name);
          if (!found) return missing;
          const { quota } = found;
          return data({
            block_interval: quota.blockSeconds,
            inheritable: quota.inheritable,
            interval: quota.intervalSeconds,
            name: quota.name,
            path: quota.writtenPath,
            rate: quota.rate,
            role: quota.role,
            type: 'rate-limit',
          });
        },
      },
      write: {
        summary: 'Create or replace a rate limit.',
        operationId: 'rate-limit-quotas-write',
        auditClear: 'all',
        input: z.object({
          path: where(),
          role: string().optional().describe('Has no effect on rate limits of this service.'),
          rate: anything().optional().describe('Requests allowed per interval, a number above 0.'),
          interval: duration().optional().describe('Length of the interval; a second unless given.'),
          block_interval: duration().optional().describe('How long a client stays refused once it was.'),
          inheritable: inheritable(),
        }),
        async run({ input, params, namespace }) {
          const rate = Number(String(input.rate ?? ''));
          if (!(rate > 0) || !Number.isFinite(rate)) throw new Refusal('invalid', "'rate' is invalid");
          const intervalSeconds = input.interval || 1;
          await quotas.put(namespace.uuid, {
            kind: 'rate-limit',
            name: params.name,
            path: input.path ?? '',
            role: input.role ?? '',
            inheritable: input.inheritable ?? (input.path ?? '') === '',
            rate,
            intervalSeconds,
            blockSeconds: input.block_interval ?? 0,
          });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a rate limit.',
        operationId: 'rate-limit-quotas-delete',
        async run({ params, namespace }) {
          await quotas.delete(namespace.uuid, 'rate-limit', params.name);
          return empty;
        },
      },
    }),
    path('quotas/lease-count', {
      summary: 'Lease counts.',
      list: {
        summary: 'List lease counts.',
        operationId: 'lease-count-quotas-list',
        run: async ({ namespace }) => keys(await quotas.list(namespace.uuid, 'lease-count')),
      },
    }),
    path('quotas/lease-count/:name', {
      summary: 'How many leases there may be at a time, over all nodes.',
      paramDocs: { name: 'Name of the limit.' },
      read: {
        summary: 'Read a lease count, with the leases counted now.',
        operationId: 'lease-count-quotas-read',
        auditClear: 'all',
        async run({ params, namespace }) {
          const found = await quotas.find(namespace.uuid, 'lease-count', params.name);
          if (!found) return missing;
          const { quota, leases } = found;
          return data({
            counter: leases,
            inheritable: quota.inheritable,
            max_leases: quota.maxLeases,
            name: quota.name,
            path: quota.writtenPath,
            role: quota.role,
            type: 'lease-count',
          });
        },
      },
      write: {
        summary: 'Create or replace a lease count.',
        operationId: 'lease-count-quotas-write',
        auditClear: 'all',
        input: z.object({
          path: where(),
          role: string().optional().describe('Only leases of this role: the last segment of their path.'),
          max_leases: int().optional().describe('How many, above 0.'),
          inheritable: inheritable(),
        }),
        async run({ input, params, namespace }) {
          const maxLeases = input.max_leases ?? 0;
          if (maxLeases < 1) throw new Refusal('invalid', "'max_leases' must be greater than 0");
          await quotas.put(namespace.uuid, {
            kind: 'lease-count',
            name: params.name,
            path: input.path ?? '',
            role: input.role ?? '',
            inheritable: input.inheritable ?? (input.path ?? '') === '',
            maxLeases,
          });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a lease count.',
        operationId: 'lease-count-quotas-delete',
        async run({ params, namespace }) {
          await quotas.delete(namespace.uuid, 'lease-count', params.name);
          return empty;
        },
      },
    }),
  ];
}
