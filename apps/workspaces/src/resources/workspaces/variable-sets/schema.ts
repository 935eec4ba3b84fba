import { document, many, one, references } from '@keystead/jsonapi';
import { z } from 'zod';

const name = z.string().trim().min(1).max(90);
const settings = {
  description: z.string().max(512).nullish(),
  priority: z.boolean().nullish(),
};
const relationships = {
  workspaces: many('workspaces'),
  projects: many('projects'),
  vars: many('vars'),
  parent: one('organizations', 'projects'),
};

export const CreateVariableSet = document('varsets', {
  attributes: { name, global: z.boolean().nullish(), ...settings },
  relationships,
});
export const UpdateVariableSet = document('varsets', {
  attributes: { name: name.optional(), global: z.boolean().nullish(), ...settings },
  relationships,
});
export const Workspaces = references('workspaces');
export const Projects = references('projects');
