import type { Policy } from '../../../kernel/access/policy';
import { actorOf, recordChange } from '../../../kernel/audit/audit';
import { type Endpoint, endpoints } from '../../../kernel/endpoints/endpoint';
import { dropFormerKeys, turnKeysNow } from '../../../kernel/installation/identity-keys';

const { command } = endpoints({} as Policy<undefined>, undefined, { organizationsOf: () => [] });

const changes = [
  [
    'rotate-key',
    turnKeysNow,
    'Sign identity tokens of runs with the next key from now on; the previous one stays published for a day.',
  ],
  [
    'trim-key',
    dropFormerKeys,
    'Withdraw the keys that no longer sign identity tokens; tokens signed by them are refused from now on.',
  ],
] as const;

/** The keys that sign identity tokens of runs, rotated by hand. */
export const identityKeyEndpoints: readonly Endpoint[] = changes.map(([verb, prepare, summary]) =>
  command('POST')(`/admin/oidc-settings/actions/${verb}`, {
    siteAdmin: true,
    edition: 'self-hosted',
    summary,
    run: async ({ db, env, ...call }) => {
      const change = await prepare(db, env.keyring, env.now());
      await db.transaction(async (tx) => {
        const keys = await change(tx);
        const target = { type: 'oidc-settings', id: 'oidc', name: 'oidc' };
        await recordChange(tx, actorOf(call), {
          organizationId: null,
          action: `oidc-settings.${verb}`,
          target,
          after: { keys },
        });
      });
    },
  }),
);
