import { z } from 'zod';
import { collection } from '../../../sdk/collection';
import type { Storage } from '../../../sdk/storage';
import { belowAddress, type PublicUrl } from './issuer';
import { allows } from './named-keys';

const Provider = z.object({
  issuer: z.string(),
  allowed_client_ids: z.array(z.string()),
  scopes_supported: z.array(z.string()),
});
/** An OpenID provider that applications trust. */
export type Provider = z.output<typeof Provider>;

/** Configured providers, by name. */
export const providers = collection('oidc/provider/', Provider);

/** The default provider of every namespace. */
export const defaultProviderName = 'default';

/** The defaults of a provider. */
export const newProvider: Provider = { issuer: '', allowed_client_ids: [], scopes_supported: [] };

/** Finds a provider; `default` always exists, for all clients. */
export async function findProvider(storage: Storage, name: string): Promise<Provider | undefined> {
  const found = await providers.find(storage, name);
  return found ?? (name === defaultProviderName ? { ...newProvider, allowed_client_ids: ['*'] } : undefined);
}

/** Whether a provider serves an application. */
export const serves = (provider: Provider, clientId: string): boolean => allows(provider, clientId);

/** The issuer of a provider's tokens; undefined if its address is not known. */
export const issuerOf = (provider: Provider, name: string, namespacePath: string, publicUrl: PublicUrl) =>
  belowAddress(provider.issuer || publicUrl, namespacePath, `identity/oidc/provider/${name}`);
