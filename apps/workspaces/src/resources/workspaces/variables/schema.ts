import { document, documents, invalidAll, type ParsedDocument, requiredOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { variableAttributes } from './attributes';

const { create, update } = variableAttributes;

const NewVariable = z.object(create);

/** A new variable inside another document, in its `vars`. Throws `invalid`. */
export function readNewVariable(sent: unknown, index: number): VariableInput {
  const parsed = NewVariable.safeParse(sent);
  if (parsed.success) return parsed.data;
  const at = ['data', 'relationships', 'vars', 'data', index, 'attributes'];
  throw invalidAll(parsed.error.issues.map(({ path, message }) => ({ path: [...at, ...path.map(String)], message })));
}

export const CreateVariable = document('vars', { attributes: create });
export const UpdateVariable = document('vars', { attributes: update });

/** Changes of several variables at once. */
export const UpdateVariables = documents(UpdateVariable, 100);

/** The older form, where the workspace is named in the document. */
export const CreateVariableSomewhere = document('vars', {
  attributes: create,
  relationships: { workspace: requiredOne('workspaces') },
});

/** The content of a variable in a request. */
export type VariableInput = ParsedDocument<typeof UpdateVariable>;
