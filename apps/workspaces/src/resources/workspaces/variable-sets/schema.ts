import { document, many, one, type ParsedDocument, references } from '@keystead/jsonapi';
import { variableSetAttributes } from './attributes';

const relationships = {
  workspaces: many('workspaces'),
  projects: many('projects'),
  vars: many('vars'),
  parent: one('organizations', 'projects'),
};

const unserved = { stacks: 'stacks are not built' };

export const CreateVariableSet = document('varsets', {
  attributes: variableSetAttributes.create,
  relationships,
  unserved,
});
export const UpdateVariableSet = document('varsets', {
  attributes: variableSetAttributes.update,
  relationships,
  unserved,
});
export const Workspaces = references('workspaces');
export const Projects = references('projects');

/** The settings of a set in a request. */
export type SetInput = ParsedDocument<typeof UpdateVariableSet>;
