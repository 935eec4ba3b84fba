import { z } from 'zod';
import { collection } from '../../../sdk/collection';

const Role = z.object({
  key: z.string(),
  template: z.string(),
  client_id: z.string(),
  /** Seconds. */
  ttl: z.int(),
});

/** What identity tokens are like that entities ask for themselves, by name. */
export const roles = collection('oidc/role/', Role);
