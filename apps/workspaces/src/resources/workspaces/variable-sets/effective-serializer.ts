import { choice, flag, hasOne, serializer, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { EffectiveVariable, Source } from './reaching';

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

const attributes = {
  key: text,
  value: text.nullable(),
  description: text.nullable(),
  category: choice(['terraform', 'env']),
  hcl: flag,
  sensitive: flag,
  ...source,
  hides: z.array(z.object({ 'variable-id': text, ...source })),
};

const relations = { variable: hasOne('vars') };

/** What a run is given under one key; sensitive values are never shown. */
export const effectiveVariableSerializer = serializer<EffectiveVariable, View, typeof attributes, typeof relations>({
  type: 'effective-variables',
  shape: attributes,
  relations,
  id: ({ variable }) => variable.id,
  attributes: ({ variable, hides, ...from }) => ({
    key: variable.key,
    value: variable.sensitive ? null : variable.value,
    description: variable.description,
    category: variable.category,
    hcl: variable.hcl,
    sensitive: variable.sensitive,
    ...shownSource(from),
    hides: hides.map(({ variableId, ...one }) => ({ 'variable-id': variableId, ...shownSource(one) })),
  }),
  relationships: ({ variable }) => ({ variable: toOne('vars', variable.id) }),
});
