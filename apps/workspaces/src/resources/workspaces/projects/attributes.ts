import { attributesOf, choice, flag, instant, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { secretsLogin } from '../../installation/identity-tokens/schema';
import { projectPolicy } from './policy';
import type { Project } from './project';

const { setting, ruled, writeOnly, shown, table } = attributesOf<Project, View>();

const name = z
  .string()
  .refine(
    (text) => /^[A-Za-z0-9_ -]*$/.test(text) && text.trim() === text,
    'may only contain letters, numbers, inner spaces, dashes and underscores',
  )
  .min(3)
  .max(40);

const duration = z
  .string()
  .regex(/^(?!0+[dh])\d{1,4}[dh]$/, "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')")
  .nullable();

const overwrites = { 'default-execution-mode': z.boolean().nullish(), 'default-agent-pool': z.boolean().nullish() };

/**
 * The attributes of a project, one row each. Request bodies, responses, columns and the API description are derived
 * from this table. Spec: Limits (project names of up to 40 characters).
 */
export const projectAttributes = table({
  name: setting('name', { type: text, takes: name, initial: '', when: 'required' }),
  description: setting('description', {
    type: text.nullable(),
    takes: z.string().max(256).nullable(),
    initial: null,
  }),
  'created-at': shown(instant, (project) => project.createdAt.toISOString()),
  'project-count': shown(whole, (project) => project.projectCount),
  'workspace-count': shown(whole, (project) => project.workspaceCount),
  'team-count': shown(whole, (project) => project.teamCount),
  'auto-destroy-activity-duration': setting('autoDestroyActivityDuration', {
    type: text.nullable(),
    takes: duration,
    initial: null,
  }),
  // Null means the setting of the organization. Only owners may change this attribute.
  'allow-force-delete-workspaces': setting('allowForceDeleteWorkspaces', {
    type: flag.nullable(),
    takes: flag.nullable(),
    initial: null,
  }),
  'default-execution-mode': ruled({
    type: choice(['remote', 'local', 'agent']),
    takes: z.enum(['remote', 'local', 'agent']).nullable(),
    show: (project) => project.executionMode ?? project.inherited.executionMode,
    columns: { executionMode: null },
  }),
  // The attribute is shown as a relationship.
  'default-agent-pool-id': writeOnly(z.string().nullable(), { agentPoolId: null }),
  'secrets-role': setting('secretsRole', {
    type: text.nullable(),
    takes: secretsLogin['secrets-role'],
    initial: null,
  }),
  'secrets-namespace': setting('secretsNamespace', {
    type: text.nullable(),
    takes: secretsLogin['secrets-namespace'],
    initial: null,
  }),
  'setting-overwrites': ruled({
    type: z.object({ 'default-execution-mode': flag, 'default-agent-pool': flag }),
    takes: z.object(overwrites).nullable(),
    show: ({ executionMode }) => ({
      'default-execution-mode': executionMode !== null,
      'default-agent-pool': executionMode !== null,
    }),
  }),
  permissions: shown(permissions(projectPolicy), (project, { access }) => abilities(projectPolicy, access, project)),
});
