import { document, type ParsedDocument } from '@keystead/jsonapi';
import { providerAttributes } from './attributes';

export const CreateProvider = document('sign-in-providers', {
  attributes: { ...providerAttributes.create, 'client-secret': providerAttributes.create['client-secret'].unwrap() },
});
export const UpdateProvider = document('sign-in-providers', { attributes: providerAttributes.update });

/** The settings of a provider in a request. */
export type ProviderInput = ParsedDocument<typeof UpdateProvider>;
