import { document, many, one, references } from '@keystead/jsonapi';
import { z } from 'zod';
import { secretsLogin } from '../../installation/identity-tokens/schema';

const name = z
  .string()
  .refine(
    (text) => /^[A-Za-z0-9_ -]*$/.test(text) && text.trim() === text,
    'may only contain letters, numbers, inner spaces, dashes and underscores',
  )
  .min(3)
  .max(40);

const duration = z
  .string()
  .regex(/^(?!0+[dh])\d{1,4}[dh]$/, "has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')")
  .nullish();

const settings = {
  description: z.string().max(256).nullish(),
  'auto-destroy-activity-duration': duration,
  ...secretsLogin,
  'default-execution-mode': z.enum(['remote', 'local', 'agent']).nullish(),
  'default-agent-pool-id': z.string().nullish(),
  'setting-overwrites': z
    .object({ 'default-execution-mode': z.boolean().nullish(), 'default-agent-pool': z.boolean().nullish() })
    .nullish(),
};
const relationships = { 'default-agent-pool': one('agent-pools'), 'tag-bindings': many('tag-bindings') };

/** Spec: Limits (project names of up to 40 characters). */
export const CreateProject = document('projects', { attributes: { name, ...settings }, relationships });
export const UpdateProject = document('projects', {
  attributes: { name: name.optional(), ...settings },
  relationships,
});
export const Workspaces = references('workspaces');
