import { Refusal } from '@keystead/refusal';
import { collection } from '../../sdk/collection';
import { durationText } from '../../sdk/duration';
import { bool, commaList, oneOf } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';
import { leaseTimes } from './config-lease';

const fields = recordFields({
  policies: [commaList().describe('Scheduler policies given to each token; they must already exist there.'), []],
  global: [bool().describe('Replicate the token to every region of the scheduler.'), false],
  type: [
    oneOf(['client', 'management'], () => 'type must be "client" or "management"').describe(
      'Type of scheduler token; every write without it resets it to client.',
    ),
    'client',
  ],
});

/** The shapes of tokens, by role name. */
export const roles = collection('role/', fields.input);

/** The names of the roles. Spec: Job-scheduler engine. */
export const roleListPath = namesPath('role', roles, {
  summary: 'The roles of this engine.',
  spec: 'Job-scheduler engine',
  list: 'List the roles.',
});

/** One role. Spec: Job-scheduler engine (Role). */
export const rolePath = recordPath('role/:name', roles, {
  summary: 'A role: the scheduler tokens that it issues.',
  spec: 'Job-scheduler engine',
  read: {
    summary: 'Read a role.',
    async show(role, { storage }) {
      const { ttl } = await leaseTimes(storage);
      return {
        global: role.global,
        lease: durationText(ttl),
        policies: role.policies,
        token_type: role.type,
        type: role.type,
      };
    },
  },
  write: {
    summary: 'Create a role, or change the fields sent.',
    update: 'merge',
    defaults: fields.defaults,
    resets: ['type'],
    input: fields.input,
    run({ params, input, storage }) {
      if (input.type === 'client' && input.policies.length === 0) {
        throw new Refusal('invalid', 'policies cannot be empty when using client tokens');
      }
      if (input.type === 'management' && input.policies.length > 0) {
        throw new Refusal('invalid', 'policies should be empty when using management tokens');
      }
      roles.put(storage, params.name, input);
      return empty;
    },
  },
  delete: 'Delete a role. Deleting an absent role succeeds.',
});
