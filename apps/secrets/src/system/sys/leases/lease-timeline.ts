import { z } from 'zod';
import type { DueLease, TimelinePlace } from '../../../kernel/leases/timeline';
import type { LiveMount } from '../../../kernel/mounts/mount';
import { announced, bool, int, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';
import { timeText } from '../../../sdk/time-text';
import { readAfter, readLimit } from '../list-input';
import type { LeaseParts } from './find-lease';

const mostLeases = 1000;
const usualLeases = 200;

const input = z.object({
  prefix: string().optional().describe('Only leases below this prefix, for example scheduler/creds. Default: all.'),
  accessor: string().optional().describe('Only leases that the token with this accessor requested.'),
  failing: bool().optional().describe('Only leases whose revocation failed.'),
  limit: announced(int(), { minimum: 1, maximum: mostLeases, default: usualLeases })
    .optional()
    .describe('Maximum number of leases to return.'),
  after: string().optional().describe('Continue after this lease: the next value of the previous response.'),
});

const shown = z.object({
  lease_id: z.string(),
  path: z.string(),
  mount_type: z.string(),
  state: z.enum(['live', 'ending', 'irrevocable']),
  renewable: z.boolean(),
  issue_time: z.string(),
  last_renewal: z.string().nullable(),
  expire_time: z.string(),
  max_expire_time: z.string().nullable().describe('Latest time to which the lease can be renewed, if known.'),
  token_accessor: z
    .string()
    .nullable()
    .describe('Accessor of the token that requested the lease; null if the token has none or no longer exists.'),
  attempts: z.int().describe('Number of failed attempts to revoke the lease.'),
  error: z.string().nullable().describe('Error of the last attempt to revoke the lease.'),
  next_attempt: z.string().nullable().describe('Time of the next attempt to revoke it.'),
  away_since: z.string().nullable().describe('Time since which the outside system has not answered.'),
});

/** `sys/leases/timeline`: leases in the order of their ends. */
export function leaseTimelinePath(parts: LeaseParts) {
  const { leases, mounts } = parts;
  return path('leases/timeline', {
    summary: 'Leases of this namespace by expiry, earliest first.',
    description: 'Leases of secrets with their times and failures, without tokens.',
    sudo: true,
    read: {
      summary: 'List leases by expiry.',
      operationId: 'leases-timeline',
      input,
      output: z.object({ leases: z.array(shown), next: z.string().nullable() }),
      async run({ input, namespace }) {
        const prefix = prefixOf(input.prefix);
        const { accessor } = input;
        const owner = accessor ? await parts.tokens.findByAccessor(namespace.uuid, accessor) : undefined;
        // Leases end with their token, so without a token there are no leases.
        if (accessor && owner === undefined) return data({ leases: [], next: null });
        const prefixMount = prefix === '' ? undefined : mounts.resolve(namespace.uuid, prefix)?.mount;
        const among = prefix === '' ? mounts.list(namespace.uuid) : prefixMount ? [prefixMount] : [];
        const found = await leases.timeline({
          namespaceId: namespace.uuid,
          mountIds: among.map(({ uuid }) => uuid),
          prefix,
          tokenHash: owner && Buffer.from(owner.hash),
          failing: input.failing ?? false,
          limit: readLimit(input.limit ?? usualLeases, mostLeases),
          after: input.after ? placeOf(input.after) : undefined,
        });
        const accessors = await accessorsOf(parts, found.leases);
        return data({
          leases: found.leases.map((due) => show(due, mounts.find(due.lease.mountId), accessors)),
          next: found.next ? `${found.next.dueAtMs}.${found.next.hash}` : null,
        });
      },
    },
  });
}

function show({ lease, dueAtMs }: DueLease, mount: LiveMount | undefined, accessors: ReadonlyMap<string, string>) {
  const failed = lease.attempts > 0 || lease.state === 'irrevocable' || lease.awaySinceMs !== undefined;
  const most = lease.maxTtlSeconds || mount?.view.maxLeaseTtlSeconds || 0;
  const ends = [most > 0 ? lease.issuedAtMs + most * 1000 : undefined, lease.capMs].filter((ms) => ms !== undefined);
  return {
    lease_id: lease.id,
    path: lease.path,
    mount_type: mount?.type ?? '',
    state: lease.state,
    renewable: lease.renewable,
    issue_time: timeText(lease.issuedAtMs),
    last_renewal: timeText(lease.renewedAtMs),
    expire_time: timeText(lease.expiresAtMs),
    max_expire_time: ends.length > 0 ? timeText(Math.max(Math.min(...ends), lease.expiresAtMs)) : null,
    token_accessor: accessors.get(lease.tokenHash?.toString('hex') ?? '') ?? null,
    attempts: lease.attempts,
    error: lease.failure ?? null,
    next_attempt: failed ? timeText(dueAtMs) : null,
    away_since: timeText(lease.awaySinceMs),
  };
}

/** Accessors of the tokens that own leases, by the hex of the tokens' hashes. */
async function accessorsOf({ tokens }: LeaseParts, leases: readonly DueLease[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const hash of new Set(leases.map(({ lease }) => lease.tokenHash?.toString('hex') ?? ''))) {
    const token = hash === '' ? undefined : await tokens.findByHash(Buffer.from(hash, 'hex'));
    if (token && token.accessor !== '') found.set(hash, token.accessor);
  }
  return found;
}

const prefixOf = (prefix = ''): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`);

function placeOf(text: string): TimelinePlace {
  const [dueAtMs, hash] = readAfter(/^(\d{1,15})\.((?:[0-9a-f]{2}){1,64})$/, text);
  return { dueAtMs: Number(dueAtMs), hash: hash! };
}
