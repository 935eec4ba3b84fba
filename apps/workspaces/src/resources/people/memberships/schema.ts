import { document, many } from '@keystead/jsonapi';
import { personAttributes } from '../users/schema';

export const Invite = document('organization-memberships', {
  attributes: { email: personAttributes.email },
  relationships: { teams: many('teams') },
});
