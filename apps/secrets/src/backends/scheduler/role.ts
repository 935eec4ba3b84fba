import { Refusal } from '@keystead/refusal';
import { collection } from '../../sdk/collection';
import { durationText } from '../../sdk/duration';
import { bool, commaList, oneOf } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import { namesPath, recordPath } from '../../sdk/records';
import { empty } from '../../sdk/reply';
import { leaseTimes } from './config-lease';

const fields = recordFields({
  policies: [commaList().describe('Policies of each token; they must already exist in the scheduler.'), []],
  global: [bool().describe('Create global tokens, which the scheduler replicates to all regions.'), false],
  type: [
    oneOf(['client', 'management'], () => 'type must be "client" or "management"').describe(
      'Type of the tokens. A write without this field resets it to client.',
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
  summary: 'A role: which scheduler tokens are issued.',
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
    summary: 'Create a role, or change some of its fields.',
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
