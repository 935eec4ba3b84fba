import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Mounts } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { Quotas } from '../../../kernel/quotas/quotas';
import { usualRules } from '../../../kernel/quotas/rate-rules';
import { announced, bool, decimal, duration, int, mountPath, string, stringList } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { pathProblem } from '../../../sdk/path-text';
import { data, empty, keys, missing } from '../../../sdk/reply';
import { quotaTarget } from './quota-target';

interface QuotaParts {
  readonly quotas: Quotas;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

const where = () =>
  mountPath()
    .optional()
    .describe(
      'A child namespace, a mount, or a path below a mount (a final `*` matches any rest). Empty: the whole namespace.',
    );
const inheritable = () => bool().optional().describe('Include namespaces below this one.');

/** Mounts and namespaces are shown with their trailing slash. */
const shownPath = ({ writtenPath, path: below }: { readonly writtenPath: string; readonly path: string }): string =>
  writtenPath !== '' && below === '' ? `${writtenPath}/` : writtenPath;

/**
 * The requested target of a quota, or the previous target if none is requested. A given path also sets whether the
 * quota includes the namespaces below.
 */
const keeping = (
  input: { path?: string; role?: string; inheritable?: boolean },
  before: { writtenPath: string; role: string; inheritable: boolean } | undefined,
) => ({
  path: input.path ?? before?.writtenPath,
  role: input.role ?? before?.role,
  inheritable: input.inheritable ?? (input.path === undefined ? before?.inheritable : undefined),
});

/** `sys/quotas`: rate limits are counted per node, leases across all nodes. */
export function quotaPaths({ quotas, ...parts }: QuotaParts) {
  /** The fields of every quota. Its name is unique in its namespace. */
  const named = (ownerId: string, name: string, input: { path?: string; role?: string; inheritable?: boolean }) => {
    const { path: writtenPath = '', role = '', inheritable = writtenPath === '' } = input;
    return { ...quotaTarget(parts, ownerId, { path: writtenPath, role, inheritable }), ownerId, name, writtenPath };
  };
  return [
    rulesPath(quotas),
    path('quotas/rate-limit', {
      summary: 'Rate limit quotas.',
      list: {
        summary: 'List the rate limit quotas.',
        operationId: 'rate-limit-quotas-list',
        run: async ({ namespace }) => keys(await quotas.list(namespace.uuid, 'rate-limit')),
      },
    }),
    path('quotas/rate-limit/:name', {
      summary: 'A rate limit quota. Each node counts separately.',
      paramDocs: { name: 'Name of the limit.' },
      read: {
        summary: 'Read a rate limit quota.',
        operationId: 'rate-limit-quotas-read',
        auditClear: 'all',
        async run({ params, namespace }) {
          const quota = (await quotas.find(namespace.uuid, 'rate-limit', params.name))?.quota;
          if (quota?.kind !== 'rate-limit') return missing;
          return data({
            block_interval: quota.blockSeconds,
            inheritable: quota.inheritable,
            interval: quota.intervalSeconds,
            name: quota.name,
            path: shownPath(quota),
            rate: quota.rate,
            role: quota.role,
            type: 'rate-limit',
          });
        },
      },
      write: {
        summary: 'Create a rate limit quota, or change some of its fields.',
        operationId: 'rate-limit-quotas-write',
        auditClear: 'all',
        input: z.object({
          path: where(),
          role: string()
            .optional()
            .describe(
              'Limits for one login role are not supported: must be empty. Requests are counted before their bodies are read.',
            ),
          rate: decimal("'rate' is invalid")
            .optional()
            .describe('Number of requests allowed per interval; must be above 0.'),
          interval: duration().optional().describe('Length of the interval; a second by default.'),
          block_interval: duration().optional().describe('How long a client that reaches the limit is refused.'),
          inheritable: inheritable(),
        }),
        async run({ input, params, namespace }) {
          if (input.role) {
            throw new Refusal(
              'invalid',
              "'role' is not supported for rate limits: requests are counted before their bodies are read",
            );
          }
          await quotas.change(namespace.uuid, 'rate-limit', params.name, (found) => {
            const before = found?.kind === 'rate-limit' ? found : undefined;
            const rate = input.rate ?? before?.rate ?? 0;
            if (rate <= 0) throw new Refusal('invalid', "'rate' is invalid");
            return {
              ...named(namespace.uuid, params.name, keeping(input, before)),
              kind: 'rate-limit',
              rate,
              intervalSeconds: input.interval === undefined && before ? before.intervalSeconds : input.interval || 1,
              blockSeconds: input.block_interval ?? before?.blockSeconds ?? 0,
            };
          });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a rate limit quota.',
        operationId: 'rate-limit-quotas-delete',
        async run({ params, namespace }) {
          await quotas.delete(namespace.uuid, 'rate-limit', params.name);
          return empty;
        },
      },
    }),
    path('quotas/lease-count', {
      summary: 'Lease count quotas.',
      list: {
        summary: 'List the lease count quotas.',
        operationId: 'lease-count-quotas-list',
        run: async ({ namespace }) => keys(await quotas.list(namespace.uuid, 'lease-count')),
      },
    }),
    path('quotas/lease-count/:name', {
      summary: 'A lease count quota: the maximum number of leases on all nodes together.',
      paramDocs: { name: 'Name of the limit.' },
      read: {
        summary: 'Read a lease count quota, with the current number of leases.',
        operationId: 'lease-count-quotas-read',
        auditClear: 'all',
        async run({ params, namespace }) {
          const found = await quotas.find(namespace.uuid, 'lease-count', params.name);
          const quota = found?.quota;
          if (quota?.kind !== 'lease-count') return missing;
          return data({
            counter: found!.leases,
            inheritable: quota.inheritable,
            max_leases: quota.maxLeases,
            name: quota.name,
            path: shownPath(quota),
            role: quota.role,
            type: 'lease-count',
          });
        },
      },
      write: {
        summary: 'Create a lease count quota, or change some of its fields.',
        operationId: 'lease-count-quotas-write',
        auditClear: 'all',
        input: z.object({
          path: where(),
          role: string().optional().describe('Only leases of this role: the last segment of their path.'),
          max_leases: int().optional().describe('Maximum number of leases; must be above 0.'),
          inheritable: inheritable(),
        }),
        async run({ input, params, namespace }) {
          await quotas.change(namespace.uuid, 'lease-count', params.name, (found) => {
            const before = found?.kind === 'lease-count' ? found : undefined;
            const maxLeases = input.max_leases ?? before?.maxLeases ?? 0;
            if (maxLeases < 1) throw new Refusal('invalid', "'max_leases' must be greater than 0");
            return { ...named(namespace.uuid, params.name, keeping(input, before)), kind: 'lease-count', maxLeases };
          });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a lease count quota.',
        operationId: 'lease-count-quotas-delete',
        async run({ params, namespace }) {
          await quotas.delete(namespace.uuid, 'lease-count', params.name);
          return empty;
        },
      },
    }),
  ];
}

const mostExempt = 100;

function rulesPath(quotas: Quotas) {
  return path('quotas/config', {
    summary: 'The configuration of rate limit quotas.',
    rootNamespaceOnly: true,
    read: {
      summary: 'Read the configuration of rate limit quotas.',
      operationId: 'rate-limit-quotas-read-configuration',
      output: z.object({
        enable_rate_limit_audit_logging: z.boolean(),
        enable_rate_limit_response_headers: z.boolean(),
        rate_limit_exempt_paths: z.array(z.string()),
      }),
      auditClear: 'all',
      async run() {
        const { audited, headers, exemptPaths } = await quotas.readRules();
        return data({
          enable_rate_limit_audit_logging: audited,
          enable_rate_limit_response_headers: headers,
          rate_limit_exempt_paths: exemptPaths,
        });
      },
    },
    write: {
      summary: 'Replace the configuration of rate limit quotas. Omitted fields are reset to their defaults.',
      operationId: 'rate-limit-quotas-configure',
      auditClear: 'all',
      input: z.object({
        rate_limit_exempt_paths: stringList()
          .optional()
          .describe(
            'Paths without rate limits, relative to the root namespace. Paths below sys/ are relative to each namespace. A final `*` matches any rest.',
          ),
        enable_rate_limit_audit_logging: announced(bool(), { default: usualRules.audited })
          .optional()
          .describe('Write audit lines for requests that a rate limit refuses.'),
        enable_rate_limit_response_headers: announced(bool(), { default: usualRules.headers })
          .optional()
          .describe('Send the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.'),
      }),
      async run({ input }) {
        const exemptPaths = input.rate_limit_exempt_paths ?? usualRules.exemptPaths;
        if (exemptPaths.length > mostExempt) {
          throw new Refusal('invalid', `rate_limit_exempt_paths: at most ${mostExempt} paths`);
        }
        for (const one of exemptPaths) {
          // No request has such a path, so the exemption would have no effect.
          if (one === '' || one.startsWith('/') || pathProblem(one) !== undefined) {
            throw new Refusal('invalid', `rate_limit_exempt_paths: invalid path ${JSON.stringify(one)}`);
          }
        }
        await quotas.writeRules({
          exemptPaths,
          audited: input.enable_rate_limit_audit_logging ?? usualRules.audited,
          headers: input.enable_rate_limit_response_headers ?? usualRules.headers,
        });
        return empty;
      },
    },
  });
}
