import { document, requiredOne } from '@keystead/jsonapi';
import { z } from 'zod';

const key = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s=\u0000-\u001f\u007f]+$/, 'may not contain spaces, control characters or =');

const attributes = {
  key,
  value: z.string().max(262_144).nullish(),
  description: z.string().max(512).nullish(),
  category: z.enum(['terraform', 'env']),
  hcl: z.boolean().nullish(),
  sensitive: z.boolean().nullish(),
};
const changes = { ...attributes, key: key.optional(), category: attributes.category.optional() };

/** What a request says of a new variable, also inside a variable set's document. */
export const variableAttributes = z.object(attributes);

export const CreateVariable = document('vars', { attributes });
export const UpdateVariable = document('vars', { attributes: changes });

/** The older form, where the workspace is named in the document. */
export const CreateVariableSomewhere = document('vars', {
  attributes,
  relationships: { workspace: requiredOne('workspaces') },
});
