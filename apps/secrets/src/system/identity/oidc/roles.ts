import { z } from 'zod';
import { collection } from '../../../sdk/collection';

const Role = z.object({
  key: z.string(),
  template: z.string(),
  client_id: z.string(),
  /** Seconds. */
  ttl: z.int(),
});

/** The roles of identity tokens, by name. */
export const roles = collection('oidc/role/', Role);
