import { choice, flag, hasOne, instant, linksTo, related, serializer, text, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { projectPolicy } from './policy';
import type { Project } from './service';

const projectAttributes = {
  name: text,
  description: text.nullable(),
  'created-at': instant,
  'project-count': whole,
  'workspace-count': whole,
  'team-count': whole,
  'auto-destroy-activity-duration': text.nullable(),
  'default-execution-mode': choice(['remote', 'local', 'agent']),
  'secrets-role': text.nullable(),
  'secrets-namespace': text.nullable(),
  'setting-overwrites': z.object({
    'default-execution-mode': flag,
    'default-agent-pool': flag,
  }),
  permissions: permissions(projectPolicy),
};

const projectRelations = {
  organization: hasOne('organizations'),
  'default-agent-pool': hasOne('agent-pools'),
  'tag-bindings': linksTo(),
  'effective-tag-bindings': linksTo('effective-tag-bindings'),
};

export const projectSerializer = serializer<Project, View, typeof projectAttributes, typeof projectRelations>({
  type: 'projects',
  shape: projectAttributes,
  relations: projectRelations,
  id: (project) => project.id,
  self: (project) => `/api/v2/projects/${project.id}`,
  attributes: (project, view) => ({
    name: project.name,
    description: project.description,
    'created-at': project.createdAt.toISOString(),
    'project-count': project.projectCount,
    'workspace-count': project.workspaceCount,
    'team-count': project.teamCount,
    'auto-destroy-activity-duration': project.autoDestroyActivityDuration,
    'default-execution-mode': project.executionMode ?? project.inherited.executionMode,
    'secrets-role': project.secretsRole,
    'secrets-namespace': project.secretsNamespace,
    'setting-overwrites': {
      'default-execution-mode': project.executionMode !== null,
      'default-agent-pool': project.executionMode !== null,
    },
    permissions: abilities(projectPolicy, view.access, project),
  }),
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
