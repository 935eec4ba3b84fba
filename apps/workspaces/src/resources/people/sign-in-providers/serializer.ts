import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { providerAttributes } from './attributes';
import type { SignInProvider } from './provider';

const { shape, show } = providerAttributes;

export const providerSerializer = serializerOf<SignInProvider>()({
  type: 'sign-in-providers',
  shape,
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/admin/sign-in-providers/${id}`,
  attributes: show,
});
