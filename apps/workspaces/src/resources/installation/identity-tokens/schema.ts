import { z } from 'zod';

/**
 * Attributes of projects and workspaces: the role of the secrets service under which runs log in. If empty, runs do not
 * log in.
 */
export const secretsLogin = {
  'secrets-role': z
    .string()
    .max(256)
    .regex(/^[\w.-]*$/, 'may only contain letters, numbers, dots, dashes and underscores')
    .nullable(),
  'secrets-namespace': z
    .string()
    .max(1024)
    .regex(/^[\w.-]*(\/[\w.-]+)*\/?$/, 'must be the path of a namespace')
    .nullable(),
};
