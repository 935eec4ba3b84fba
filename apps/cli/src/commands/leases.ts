import type { CommandSpec } from '../command';
import { Problem } from '../problem';
import { print, printOrSay } from './print';

interface RevokeFlags {
  prefix?: boolean;
  force?: boolean;
  sync?: boolean;
}

/** `lease …`: look up, renew and revoke leases. */
export const leaseCommands: readonly CommandSpec[] = [
  {
    name: 'lease lookup',
    help: 'Show a lease.',
    args: { '<lease-id>': 'the lease id, as in the answer' },
    flags: {},
    examples: ['lease lookup scheduler/creds/ops/6f1c'],
    async run(context, _, id: string) {
      print(context, await context.client.post('sys/leases/lookup', { lease_id: id }));
    },
  },
  {
    name: 'lease renew',
    help: 'Renew a lease.',
    args: { '<lease-id>': 'the lease id, as in the answer' },
    flags: {
      '--increment <duration>': { help: 'requested lifetime from now; the service may grant less', also: ['--i'] },
    },
    examples: ['lease renew -increment=1h scheduler/creds/ops/6f1c'],
    async run(context, { increment }: { increment?: string }, id: string) {
      print(context, await context.client.put('sys/leases/renew', { lease_id: id, increment }));
    },
  },
  {
    name: 'lease revoke',
    help: 'Revoke a lease, or everything below a prefix.',
    args: { '<lease-id>': 'the lease id; with --prefix its beginning' },
    flags: {
      '--prefix': 'everything below this path',
      '--force': {
        help: 'with --prefix: delete the leases even if the outside system cannot revoke them',
        also: ['--f'],
      },
      '--sync': 'wait until they are revoked',
    },
    examples: ['lease revoke scheduler/creds/ops/6f1c', 'lease revoke -prefix scheduler/creds'],
    async run(context, { prefix, force, sync }: RevokeFlags, id: string) {
      if (force && !prefix) throw new Problem('--force needs --prefix');
      const path = force ? 'revoke-force' : 'revoke-prefix';
      const answer = prefix
        ? await context.client.put(`sys/leases/${path}/${id.replace(/\/$/, '')}`, { sync: sync ?? false })
        : await context.client.put('sys/leases/revoke', { lease_id: id, sync: sync ?? false });
      printOrSay(context, answer, prefix ? `revoked: everything below ${id}` : `revoked: ${id}`);
    },
  },
];
