import { z } from 'zod';
import { collection } from '../../../sdk/collection';
import type { Storage } from '../../../sdk/storage';

const OidcClient = z.object({
  redirect_uris: z.array(z.string()),
  assignments: z.array(z.string()),
  key: z.string(),
  /** Seconds. */
  id_token_ttl: z.int(),
  access_token_ttl: z.int(),
  client_type: z.enum(['confidential', 'public']),
  client_id: z.string(),
  /** Empty for public clients. */
  client_secret: z.string(),
});
/** An application that people sign in to with this service's identities. */
export type OidcClient = z.output<typeof OidcClient>;

/** Applications, by name. */
export const clients = collection('oidc/client/', OidcClient);

/** The names of applications, by their client id. */
export const clientNames = collection('oidc/client-id/', z.object({ name: z.string() }));

const idForm = /^[0-9A-Za-z]{32}$/;

/** Finds an application by its client id. */
export async function findClient(storage: Storage, clientId: string): Promise<OidcClient | undefined> {
  const found = idForm.test(clientId) ? await clientNames.find(storage, clientId) : undefined;
  const client = found && (await clients.find(storage, found.name));
  return client?.client_id === clientId ? client : undefined;
}
