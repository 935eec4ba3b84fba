import { document, instantIn, references } from '@keystead/jsonapi';
import { z } from 'zod';

/** An ISO 8601 timestamp, with or without an offset; null means never. */
const instant = z
  .string()
  .refine((text) => instantIn(text) !== undefined, 'is not a valid date')
  .transform((text) => new Date(text))
  .nullish();

const attributes = { description: z.string().max(255).nullish(), 'expired-at': instant };
/** Existing clients send the singular or an empty type. */
const otherTypes = ['authentication-token', ''];

export const CreateToken = document('authentication-tokens', { attributes, otherTypes, optional: true });

/** The tokens to end. */
export const Tokens = references('authentication-tokens');

/** Agents' tokens must have a description. */
export const CreateAgentToken = document('authentication-tokens', {
  attributes: { description: z.string().min(1).max(255) },
  otherTypes: [...otherTypes, 'agent-tokens'],
});
