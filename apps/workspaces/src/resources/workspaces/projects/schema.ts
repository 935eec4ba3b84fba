import { document, many, one, type ParsedDocument, references } from '@keystead/jsonapi';
import { projectAttributes } from './attributes';
import { sentBindings } from './tag-bindings';

const relationships = { 'default-agent-pool': one('agent-pools'), 'tag-bindings': many(sentBindings) };

export const CreateProject = document('projects', { attributes: projectAttributes.create, relationships });
export const UpdateProject = document('projects', { attributes: projectAttributes.update, relationships });
export const Workspaces = references('workspaces');

/** The settings of a project in a request. Tag bindings in the request replace the existing ones. */
export type ProjectInput = ParsedDocument<typeof UpdateProject>;
