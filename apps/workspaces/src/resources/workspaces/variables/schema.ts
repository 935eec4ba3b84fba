import { document, documents, type ParsedDocument, requiredOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { variableAttributes } from './attributes';

const { create, update } = variableAttributes;

/** What a request says of a new variable inside a variable set's document. */
export const NewVariable = z.object(create);

export const CreateVariable = document('vars', { attributes: create });
export const UpdateVariable = document('vars', { attributes: update });

/** Changes of several variables at once. */
export const UpdateVariables = documents(UpdateVariable, 100);

/** The older form, where the workspace is named in the document. */
export const CreateVariableSomewhere = document('vars', {
  attributes: create,
  relationships: { workspace: requiredOne('workspaces') },
});

/** What a request may say of a variable. */
export type VariableInput = ParsedDocument<typeof UpdateVariable>;
