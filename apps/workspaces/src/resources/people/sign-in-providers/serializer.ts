import { serializer } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import { providerAttributes } from './attributes';
import type { SignInProvider } from './provider';

const { shape, show } = providerAttributes;

export const providerSerializer = serializer<SignInProvider, View, typeof shape>({
  type: 'sign-in-providers',
  shape,
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/admin/sign-in-providers/${id}`,
  attributes: show,
});
