import { document, type ParsedDocument, references } from '@keystead/jsonapi';
import { teamAttributes } from './attributes';

export const CreateTeam = document('teams', { attributes: teamAttributes.create });
export const UpdateTeam = document('teams', { attributes: teamAttributes.update });
export const Users = references('users');
export const Memberships = references('organization-memberships');

/** What a request may say of a team. */
export type TeamInput = ParsedDocument<typeof UpdateTeam>;
