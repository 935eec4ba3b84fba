import { choice, flag, hasOne, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { variableAttributes } from '../variables/attributes';
import type { EffectiveVariable, Source } from './effective-variables';

const source = {
  origin: choice(['workspace', 'workspace-varset', 'project-varset', 'global-varset']),
  priority: flag,
  'varset-id': text.nullable(),
  'varset-name': text.nullable(),
};

const shownSource = ({ origin, priority, set }: Source) => ({
  origin,
  priority,
  'varset-id': set?.id ?? null,
  'varset-name': set?.name ?? null,
});

/** A variable in the form a run gets it: without its creation time and its version. */
const withoutStamps = <A extends { readonly 'created-at': unknown; readonly 'version-id': unknown }>(all: A) => {
  const { 'created-at': _at, 'version-id': _version, ...rest } = all;
  return rest;
};

/** The value that a run gets under one key; sensitive values are never shown. */
export const effectiveVariableSerializer = serializerOf<EffectiveVariable>()({
  type: 'effective-variables',
  shape: {
    ...withoutStamps(variableAttributes.shape),
    ...source,
    hides: z.array(z.object({ 'variable-id': text, ...source })),
  },
  relations: { variable: hasOne('vars') },
  id: ({ variable }) => variable.id,
  attributes: ({ variable, hides, ...from }, view) => ({
    ...withoutStamps(variableAttributes.show(variable, view)),
    ...shownSource(from),
    hides: hides.map(({ variableId, ...one }) => ({ 'variable-id': variableId, ...shownSource(one) })),
  }),
  relationships: ({ variable }) => ({ variable: toOne('vars', variable.id) }),
});
