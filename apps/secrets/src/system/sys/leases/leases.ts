import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { subtreeOf } from '../../../kernel/namespaces/lineage';
import { remainingSeconds } from '../../../kernel/tokens/ttl';
import { bool, duration, string } from '../../../sdk/fields';
import { PageInput, pageOf } from '../../../sdk/paging';
import { operation, path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import { timeText } from '../../../sdk/time-text';
import { findLease, type LeaseParts } from './find-lease';
import { leaseTimelinePath } from './lease-timeline';

/** How long callers wait for a bulk revocation. After this time they get a response, and the revocation continues. */
const WAIT_MS = 30_000;
const DEFAULT_LIMIT = 10_000;
const leaseId = () => string().optional().describe('ID of the lease.');
const increment = () => duration().optional().describe('Requested lifetime from now.');

/** Looking up, renewing and revoking leases. */
export function leasePaths(parts: LeaseParts) {
  const { leases, mounts, namespaces } = parts;
  const renew = operation<{ lease_id?: string }, typeof renewInput>({
    summary: 'Renew a lease.',
    input: renewInput,
    async run({ input, params, namespace, warn }) {
      const id = requireId(params.lease_id || input.lease_id || input.url_lease_id);
      const renewed = await leases.renew(namespace.uuid, id, input.increment ?? 0);
      for (const warning of renewed.warnings) warn(warning);
      const { ttlSeconds, lease } = renewed;
      return data(renewed.data ?? null, { id, renewable: lease.renewable, durationSeconds: ttlSeconds });
    },
  });

  const revoke = operation<{ lease_id?: string }, typeof revokeInput>({
    summary: 'Revoke a lease. Also succeeds if it does not exist.',
    input: revokeInput,
    async run({ input, params, namespace }) {
      const id = requireId(params.lease_id || input.lease_id || input.url_lease_id);
      await leases.revoke(namespace.uuid, id, { queued: input.sync === false });
      return empty;
    },
  });

  const revokePrefix = (forced: boolean) =>
    operation<{ prefix: string }, typeof prefixInput>({
      summary: forced
        ? 'Delete all leases under a prefix, even if the outside system cannot revoke them.'
        : 'Revoke all leases and tokens under a prefix.',
      operationId: forced ? 'leases-force-revoke-lease-with-prefix' : 'leases-revoke-lease-with-prefix',
      input: prefixInput,
      stepUp: true,
      async run({ input, params, namespace, warn }) {
        const waitMs = input.sync === false ? 0 : WAIT_MS;
        const outcome = await leases.revokePrefix(namespace.uuid, params.prefix, { forced, waitMs });
        if (outcome.failure) {
          const { id, reason } = outcome.failure;
          throw new Refusal(
            'invalid',
            `failed to revoke "${id}" (${outcome.failed} / ${outcome.left}): failed to revoke entry: ${reason}`,
          );
        }
        if (outcome.left > 0 && input.sync !== false) {
          warn(`The revocation continues in the background; sys/leases/jobs/${outcome.jobId} shows its progress.`);
        }
        return empty;
      },
    });

  const list = operation<{ prefix?: string }, typeof PageInput>({
    summary: 'List lease IDs under a prefix.',
    sudo: true,
    input: PageInput,
    async run({ input, params, namespace }) {
      const prefix = (params.prefix ?? '').replace(/(?<!\/)\/+$/, '');
      return keys(await leases.list(namespace.uuid, prefix === '' ? '' : `${prefix}/`, pageOf(input)));
    },
  });

  const scope = (namespaceId: string, children: boolean | undefined) =>
    children ? subtreeOf(namespaces, namespaceId) : [namespaceId];

  return [
    path('leases', {
      summary: 'Leases that could not be revoked.',
      sudo: true,
      read: {
        summary: 'List leases of a type; only `irrevocable` is supported.',
        operationId: 'leases-list',
        input: z.object({
          type: kind(),
          include_child_namespaces: childNamespaces(),
          limit: string().optional().describe('Maximum number of leases to return; `none` for all.'),
        }),
        async run({ input, namespace }) {
          if (input.type !== 'irrevocable') return missing;
          const found = await leases.irrevocable(
            scope(namespace.uuid, input.include_child_namespaces),
            parseLimit(input.limit),
          );
          return data({
            lease_count: found.length,
            leases: found.map(({ id, failure }) => ({ lease_id: id, error: failure ?? '' })),
          });
        },
      },
    }),
    path('leases/count', {
      summary: 'Counts of leases that could not be revoked.',
      read: {
        summary: 'Count leases of a type, by mount.',
        operationId: 'leases-count',
        input: z.object({ type: kind(), include_child_namespaces: childNamespaces() }),
        async run({ input, namespace }) {
          if (input.type !== 'irrevocable') return missing;
          const found = await leases.countIrrevocable(scope(namespace.uuid, input.include_child_namespaces));
          const counts: Record<string, number> = {};
          let total = 0;
          for (const [mountId, count] of found) {
            counts[mounts.find(mountId)?.accessor ?? mountId] = count;
            total += count;
          }
          return data({ lease_count: total, counts });
        },
      },
    }),
    path('leases/lookup', {
      summary: 'The properties of a lease.',
      list: { ...list, operationId: 'leases-look-up-all' },
      write: {
        summary: 'Look up a lease.',
        operationId: 'leases-read-lease',
        input: z.object({ lease_id: leaseId() }),
        output: z.object({
          expire_time: z.string().nullable(),
          id: z.string(),
          issue_time: z.string(),
          last_renewal: z.string().nullable(),
          path: z.string(),
          renewable: z.boolean(),
          ttl: z.int(),
        }),
        async run({ input, namespace, nowMs }) {
          const lease = await findLease(parts, namespace.uuid, requireId(input.lease_id));
          if (!lease) throw new Refusal('invalid', 'invalid lease');
          const { expiresAtMs } = lease;
          return data({
            expire_time: timeText(expiresAtMs),
            id: lease.id,
            issue_time: timeText(lease.issuedAtMs),
            last_renewal: timeText(lease.renewedAtMs),
            path: lease.path,
            renewable: lease.renewable,
            ttl: remainingSeconds(expiresAtMs, nowMs),
          });
        },
      },
    }),
    path('leases/lookup/:prefix*', {
      summary: 'Lease IDs under a prefix.',
      sudo: true,
      paramDocs: { prefix: 'Where leases were issued, for example `scheduler/creds/ops`.' },
      list: { ...list, operationId: 'leases-look-up' },
    }),
    ...['leases/renew', 'renew'].flatMap((base) => [
      path(base, { summary: 'Renews a lease.', write: { ...renew, operationId: `leases-renew-lease${older(base)}` } }),
      path(`${base}/:lease_id*` as 'leases/renew/:lease_id*', {
        summary: 'Renews the lease in the path.',
        paramDocs: { lease_id: 'The id of the lease.' },
        write: { ...renew, operationId: `leases-renew-lease-with-id${older(base)}` },
      }),
    ]),
    ...['leases/revoke', 'revoke'].flatMap((base) => [
      path(base, {
        summary: 'Revokes a lease.',
        write: { ...revoke, operationId: `leases-revoke-lease${older(base)}` },
      }),
      path(`${base}/:lease_id*` as 'leases/revoke/:lease_id*', {
        summary: 'Revokes the lease in the path.',
        paramDocs: { lease_id: 'The id of the lease.' },
        write: { ...revoke, operationId: `leases-revoke-lease-with-id${older(base)}` },
      }),
    ]),
    path('leases/revoke-prefix/:prefix*', {
      summary: 'Revokes all leases under a prefix.',
      sudo: true,
      params: { prefix: 'folder' },
      paramDocs: { prefix: 'Where the leases were issued.' },
      write: revokePrefix(false),
    }),
    path('leases/revoke-force/:prefix*', {
      summary: 'Deletes all leases under a prefix.',
      sudo: true,
      params: { prefix: 'folder' },
      paramDocs: { prefix: 'Where the leases were issued.' },
      write: revokePrefix(true),
    }),
    path('leases/replay', {
      summary: 'Retries irrevocable leases.',
      sudo: true,
      write: {
        summary: 'Retry the revocation of one irrevocable lease, or of all in the namespace.',
        operationId: 'leases-replay',
        input: z.object({ lease_id: leaseId() }),
        output: z.object({ lease_count: z.int() }),
        async run({ input, namespace }) {
          return data({ lease_count: await leases.replay(namespace.uuid, input.lease_id || undefined) });
        },
      },
    }),
    leaseTimelinePath(parts),
    path('leases/jobs/:id', {
      summary: 'The status of a revocation by prefix.',
      sudo: true,
      params: { id: 'uuid' },
      read: {
        summary: 'Read the status of a revocation by prefix.',
        operationId: 'leases-read-job',
        async run({ namespace, params }) {
          const job = await leases.bulkJob(namespace.uuid, params.id);
          if (!job) return missing;
          return data({
            running: job.running,
            marked: job.done,
            failures: job.failures,
            start_time: timeText(job.startedAtMs),
            last_update_time: timeText(job.updatedAtMs),
          });
        },
      },
    }),
    path('leases/tidy', {
      summary: 'Finds leases whose token no longer exists.',
      write: {
        summary: 'Tidy leases in the background.',
        operationId: 'leases-tidy',
        status: 202,
        async run({ warn }) {
          await leases.tidy();
          warn('Tidy operation successfully started. Any information from the operation will be printed to the log.');
          return data(null);
        },
      },
    }),
  ];
}

const renewInput = z.object({
  lease_id: leaseId(),
  url_lease_id: leaseId(),
  increment: increment(),
});
const revokeInput = z.object({
  lease_id: leaseId(),
  url_lease_id: leaseId(),
  sync: bool().optional().describe('false: revoke in the background.'),
});
const prefixInput = z.object({
  sync: bool().optional().describe('false: revoke in the background.'),
});
const kind = () => string().optional().describe('`irrevocable`.');
const childNamespaces = () => bool().optional().describe('Include namespaces below this one.');

function requireId(id: string | undefined): string {
  if (!id) throw new Refusal('invalid', 'lease_id must be specified');
  return id;
}

function parseLimit(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_LIMIT;
  if (text === 'none') return 1_000_000;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1)
    throw new Refusal('invalid', 'invalid limit: give a positive number or none');
  return limit;
}

/** The end of an operation id: if two paths are equivalent, the id of the older one ends with a number. */
const older = (base: string) => (base.startsWith('leases/') ? '' : '2');
