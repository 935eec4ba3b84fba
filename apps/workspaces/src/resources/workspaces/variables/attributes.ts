import { attributesOf, choice, flag, instant, isSeen, notSeen, text } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Variable } from './variable';

const { setting, lenient, ruled, shown, table } = attributesOf<Variable, View>();

const key = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s=\u0000-\u001f\u007f]+$/, 'may not contain spaces, control characters or =')
  .refine(isSeen, notSeen);

/**
 * The attributes of a variable, one row each. Request bodies, responses, columns and the API description are derived
 * from this table. Sensitive values are never shown; see `service.ts` for how they are stored.
 */
export const variableAttributes = table({
  key: setting('key', { type: text, takes: key, initial: '', when: 'required' }),
  value: ruled({
    type: text.nullable(),
    takes: z.string().max(262_144).nullable(),
    show: ({ sensitive, value }) => (sensitive ? null : value),
  }),
  description: setting('description', {
    type: text.nullable(),
    takes: z.string().max(512).nullable(),
    initial: null,
  }),
  category: setting('category', {
    type: choice(['terraform', 'env']),
    takes: z.enum(['terraform', 'env']),
    initial: 'terraform',
    when: 'required',
  }),
  hcl: lenient('hcl', { type: flag, takes: flag, initial: false }),
  sensitive: lenient('sensitive', { type: flag, takes: flag, initial: false }),
  'created-at': shown(instant, (variable) => variable.createdAt.toISOString()),
  'version-id': shown(text, (variable) => variable.versionId),
});
