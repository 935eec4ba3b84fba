import { document, invalid, many, one, requiredOne, type SentKind, type SentReference } from '@keystead/jsonapi';
import { z } from 'zod';
import { readNewVariable } from '../../workspaces/variables/schema';
import { workspaceAttributes } from '../../workspaces/workspaces/attributes';
import type { VariableOption } from './no-code-module';

const mostOptions = 100;
const mostVariables = 200;

const sentOptions: SentKind = {
  type: 'variable-options',
  attributes: {
    'variable-name': { type: 'string', minLength: 1, maxLength: 255 },
    'variable-type': { type: 'string', maxLength: 255 },
    options: { type: 'array', maxItems: mostOptions, items: { type: 'string', maxLength: 1024 } },
  },
};
const sentVariables: SentKind = {
  type: 'vars',
  attributes: { key: { type: 'string' }, value: { type: 'string' } },
};

const attributes = { enabled: z.boolean().nullish(), 'version-pin': z.string().max(128).nullish() };

/** A module to be offered as a no-code module. */
export const CreateNoCode = document('no-code-modules', {
  attributes,
  relationships: { 'registry-module': requiredOne('registry-modules'), 'variable-options': many(sentOptions) },
});

/** The settings to change. The module itself cannot be changed. */
export const UpdateNoCode = document('no-code-modules', {
  attributes,
  relationships: { 'registry-module': one('registry-modules'), 'variable-options': many(sentOptions) },
});

const option = z.object({
  'variable-name': z.string().min(1).max(255),
  'variable-type': z.string().max(255).default('string'),
  options: z.array(z.string().max(1024)).max(mostOptions).default([]),
});

/** The options in a document. Throws `invalid`. */
export function optionsIn(sent: readonly SentReference[] | undefined): VariableOption[] | undefined {
  if (sent === undefined) return undefined;
  if (sent.length > mostOptions) throw invalid('variableOptions', `are too many (maximum is ${mostOptions})`);
  const read = sent.map(({ attributes }) => {
    const parsed = option.safeParse(attributes);
    if (!parsed.success) throw invalid('variableOptions', 'must have a variable-name, a variable-type and options');
    const { 'variable-name': name, 'variable-type': type, options } = parsed.data;
    return { name, type, options };
  });
  if (new Set(read.map(({ name }) => name)).size < read.length) {
    throw invalid('variableOptions', 'contain the same variable twice');
  }
  return read;
}

const {
  name,
  description,
  'auto-apply': autoApply,
  'execution-mode': mode,
  'agent-pool-id': pool,
} = workspaceAttributes.create;
const { 'source-name': sourceName, 'source-url': sourceUrl, 'infra-version': version } = workspaceAttributes.create;

/** A workspace to be created from a module. */
export const CreateWorkspaceOf = document('no-code-module-workspace', {
  otherTypes: ['workspaces'],
  attributes: {
    name,
    description,
    'auto-apply': autoApply,
    'execution-mode': mode,
    'agent-pool-id': pool,
    'source-name': sourceName,
    'source-url': sourceUrl,
    'infra-version': version,
  },
  aliases: { 'infra-version': 'terraform-version' },
  relationships: { project: one('projects'), vars: many(sentVariables) },
});

/** Variables that an upgrade changes. */
export const UpgradeWorkspace = document('no-code-module-workspace', {
  otherTypes: ['workspaces'],
  optional: true,
  relationships: { vars: many(sentVariables) },
});

/** The variables in a document. Throws `invalid`. */
export function variablesIn(sent: readonly SentReference[] | undefined) {
  if (sent === undefined) return [];
  if (sent.length > mostVariables) throw invalid('vars', `are too many (maximum is ${mostVariables})`);
  return sent.map(({ attributes }, index) => readNewVariable(attributes, index));
}
