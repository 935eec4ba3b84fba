import { attributesOf, flag, instant, label, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { variableSetPolicy } from './policy';
import type { VariableSet } from './variable-set';

const { setting, lenient, shown, table } = attributesOf<VariableSet, View>();

/**
 * The assignments that a caller sees. Callers who may change the assignments see all of them. Others see only the
 * workspaces and projects to which they have access.
 */
export function assigned(set: VariableSet, { access }: View) {
  if (variableSetPolicy['can-update'](access, set)) return set;
  const { organizationId } = set;
  return {
    workspaces: set.workspaces.filter((workspace) => access.has(workspace, 'runs:read')),
    projectIds: set.projectIds.filter((id) => access.seesProject({ id, organizationId })),
  };
}

/**
 * The attributes of a variable set, one row each. Request bodies, responses, columns and the API description are
 * derived from this table.
 */
export const variableSetAttributes = table({
  name: setting('name', { type: text, takes: label(90), initial: '', when: 'required' }),
  description: lenient('description', { type: text, takes: z.string().max(512), initial: '' }),
  global: lenient('global', { type: flag, takes: flag, initial: false }),
  priority: lenient('priority', { type: flag, takes: flag, initial: false }),
  'updated-at': shown(instant, (set) => set.updatedAt.toISOString()),
  'var-count': shown(whole, (set) => set.variableIds.length),
  'workspace-count': shown(whole, (set, view) => assigned(set, view).workspaces.length),
  'project-count': shown(whole, (set, view) => assigned(set, view).projectIds.length),
  permissions: shown(z.object({ 'can-update': flag }), (set, { access }) => ({
    'can-update': abilities(variableSetPolicy, access, set)['can-update'],
  })),
});
