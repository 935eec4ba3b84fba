import { hasOne, linksTo, related, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { projectAttributes } from './attributes';
import type { Project } from './project';

const { shape, show } = projectAttributes;

export const projectSerializer = serializerOf<Project>()({
  type: 'projects',
  shape,
  relations: {
    organization: hasOne('organizations'),
    'default-agent-pool': hasOne('agent-pools'),
    'tag-bindings': linksTo(),
    'effective-tag-bindings': linksTo('effective-tag-bindings'),
  },
  id: (project) => project.id,
  self: (project) => `/api/v2/projects/${project.id}`,
  attributes: show,
  relationships: (project) => ({
    organization: toOne('organizations', project.organizationName),
    'default-agent-pool': toOne(
      'agent-pools',
      project.executionMode === null ? project.inherited.agentPoolId : project.agentPoolId,
    ),
    'tag-bindings': related(`/api/v2/projects/${project.id}/tag-bindings`),
    'effective-tag-bindings': related(`/api/v2/projects/${project.id}/effective-tag-bindings`),
  }),
});
