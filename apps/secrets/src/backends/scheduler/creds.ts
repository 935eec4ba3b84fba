import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { path } from '../../sdk/path';
import { secret } from '../../sdk/reply';
import { withIntent } from '../../sdk/storage';
import { accessInForce } from './config-access';
import { leaseTimes } from './config-lease';
import { roles } from './role';
import type { Scheduler } from './scheduler';
import { schedulerRefusal } from './scheduler-client';
import { tokenName } from './token-name';

/** Tokens created on demand. Spec: Job-scheduler engine (Credentials result). */
export const credsPath = (scheduler: Scheduler) =>
  path('creds/:name', {
    summary: 'Scheduler tokens, created from a role.',
    spec: 'Job-scheduler engine',
    read: {
      summary: 'Create a token. It is deleted when its lease ends.',
      output: z.object({ accessor_id: z.string(), secret_id: z.string() }),
      async run({ params, storage, caller, nowMs, warn }) {
        const role = await roles.require(storage, params.name, `role "${params.name}" not found`);
        const access = await accessInForce(storage, scheduler.defaults);
        const [absent, limit] = await Promise.all([
          scheduler.missingPolicies(access, role.policies),
          scheduler.nameLimit(access),
        ]);
        if (absent === undefined)
          warn('it could not be checked whether the policies of the role exist in the scheduler');
        else if (absent.length > 0) {
          throw new Refusal(
            'invalid',
            `role "${params.name}" names policies that do not exist in the scheduler: ${absent.join(', ')}`,
          );
        }
        await scheduler.turn();
        const name = tokenName(params.name, caller.displayName, nowMs, limit);
        const times = await leaseTimes(storage);
        const client = scheduler.client(access);
        // Check first, to avoid recording an unnecessary intent.
        client.checkCircuit();
        const token = await withIntent(storage, { kind: 'token', undo: { name } }, () =>
          client.createToken({ name, type: role.type, policies: role.policies, global: role.global }).catch((error) => {
            throw schedulerRefusal(error);
          }),
        );
        return secret('token', {
          data: { accessor_id: token.accessorId, secret_id: token.secretId },
          internal: { accessor_id: token.accessorId },
          ttlSeconds: times.ttl,
          maxTtlSeconds: times.max_ttl,
          renewable: true,
        });
      },
    },
  });
