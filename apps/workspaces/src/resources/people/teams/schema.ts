import { document, type ParsedDocument, references } from '@keystead/jsonapi';
import { teamAttributes } from './attributes';

export const CreateTeam = document('teams', { attributes: teamAttributes.create });
export const UpdateTeam = document('teams', { attributes: teamAttributes.update });
export const Users = references('users');
export const Memberships = references('organization-memberships');

/** The settings of a team in a request. */
export type TeamInput = ParsedDocument<typeof UpdateTeam>;
