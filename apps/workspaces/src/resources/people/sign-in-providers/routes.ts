import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import type { SignInProvider } from './provider';
import { CreateProvider, UpdateProvider } from './schema';
import { providerSerializer } from './serializer';
import * as providers from './service';

const { get, list, post, patch, remove } = endpoints({} as Policy<undefined>, providerSerializer, {
  organizationsOf: () => [],
});
const admin = { siteAdmin: true } as const;
const byId = '/admin/sign-in-providers/:provider_id';
const load = ({ db, params }: { db: Database; params: { provider_id: string } }) =>
  providers.find(db, params.provider_id);

/** Providers where people sign in with an account that they have elsewhere. Decision 0120. */
export const signInProviderResource: Resource = {
  name: 'sign-in providers',
  endpoints: [
    list('/admin/sign-in-providers', {
      ...admin,
      summary: 'List the sign-in providers.',
      run: ({ db, page }) => providers.list(db, page!),
    }),
    post('/admin/sign-in-providers', {
      ...admin,
      summary: 'Create a sign-in provider. It is not called until the first sign-in.',
      stepUp: true,
      body: CreateProvider,
      run: ({ db, env, body, ...call }) => providers.create(db, env.keyring, actorOf(call), body),
    }),
    get(byId, {
      ...admin,
      summary: 'Show a sign-in provider. Its secret is not shown.',
      load,
      run: async ({ target }) => target,
    }),
    patch(byId, {
      ...admin,
      summary: 'Change a sign-in provider. Disabling it ends the sessions of users who signed in through it.',
      stepUp: true,
      body: UpdateProvider,
      load,
      run: ({ db, env, target, body, ...call }) => providers.update(db, env.keyring, actorOf(call), target.id, body),
    }),
    remove(byId, {
      ...admin,
      summary:
        'Delete a sign-in provider. Sessions of users who signed in through it end. Their accounts and teams are kept.',
      stepUp: true,
      load,
      run: ({ db, target, ...call }) => providers.remove(db, actorOf(call), target),
    }),
  ],
  includable: {
    'sign-in-providers': includable<SignInProvider>({
      serializer: providerSerializer,
      load: providers.findMany,
      visible: ({ principal }) => principal.siteAdmin,
    }),
  },
};
