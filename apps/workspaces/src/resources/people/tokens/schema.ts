import { document, references } from '@keystead/jsonapi';
import { z } from 'zod';

/** An instant as ISO 8601, with or without an offset; null means never. */
const instant = z
  .string()
  .refine((text) => /^\d{4}-\d\d-\d\d(T|$)/.test(text) && !Number.isNaN(Date.parse(text)), 'is not a valid date')
  .transform((text) => new Date(text))
  .nullish();

const attributes = { description: z.string().max(255).nullish(), 'expired-at': instant };
/** Existing clients send the singular, or nothing. */
const otherTypes = ['authentication-token', ''];

export const CreateToken = document('authentication-tokens', { attributes, otherTypes, optional: true });

/** Which tokens to end. */
export const Tokens = references('authentication-tokens');

/** Agents' tokens must say what they are for. */
export const CreateAgentToken = document('authentication-tokens', {
  attributes: { description: z.string().min(1).max(255) },
  otherTypes: [...otherTypes, 'agent-tokens'],
});
