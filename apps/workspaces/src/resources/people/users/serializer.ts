import { createHash } from 'node:crypto';
import { flag, hasOne, instant, linksTo, related, sometimes, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import { serializerOf, type View } from '../../../kernel/endpoints/endpoint';
import { userPolicy } from './policy';
import { type Account, directoryAttributes } from './service';

/**
 * A person or service account. Settings are shown only to the account itself. The address is also shown to callers who
 * manage the account's membership.
 */
export const userSerializer = serializerOf<Account>()({
  type: 'users',
  shape: {
    username: text,
    'is-service-account': flag,
    'auth-method': text,
    'avatar-url': text,
    'v2-only': flag,
    'is-site-admin': flag,
    'is-sso-login': flag,
    'two-factor': z.object({
      enabled: flag,
      verified: flag,
    }),
    permissions: permissions(userPolicy),
    email: text.nullable().optional(),
    'unconfirmed-email': text.nullable().optional(),
    'has-git-hub-app-token': flag.optional(),
    'is-confirmed': flag.optional(),
    'is-sudo': flag.optional(),
    'is-scim-managed': flag.nullable().optional(),
    'scim-username': text.nullable().optional(),
    'scim-updated-at': instant.nullable().optional(),
  },
  relations: {
    'authentication-tokens': linksTo(),
    'github-app-oauth-tokens': linksTo(),
    'authenticated-resource': sometimes(hasOne('users', 'teams', 'organizations')),
  },
  id: (account) => account.id,
  self: (account) => `/api/v2/users/${account.id}`,
  attributes: (account, view) => ({
    username: account.username,
    'is-service-account': account.resource.type !== 'users',
    'auth-method': 'password',
    'avatar-url': avatarUrl(account),
    'v2-only': false,
    ...(isSelf(account, view) ? ownAttributes(account, view) : managesMember(view) ? { email: account.email } : {}),
    'is-site-admin': account.siteAdmin,
    'is-sso-login': false,
    'two-factor': { ...account.twoFactor },
    permissions: abilities(userPolicy, view.access, account),
  }),
  relationships: (account, view) => ({
    'authentication-tokens': related(`/api/v2/users/${account.id}/authentication-tokens`),
    'github-app-oauth-tokens': related(`/api/v2/users/${account.id}/github-app-oauth-tokens`),
    ...(isSelf(account, view) ? { 'authenticated-resource': toOne(account.resource.type, account.resource.id) } : {}),
  }),
});

function isSelf(account: Account, { access: { principal } }: View): boolean {
  return account.resource.type !== 'users' || principal.id === account.id;
}

/**
 * Whether the caller manages members, and so sees the email addresses of users that are included with an organization's
 * resources.
 */
function managesMember({ access }: View): boolean {
  return access.organizationIds.some((id) => access.can(id, 'manage-membership'));
}

function ownAttributes(account: Account, { settings }: View) {
  return {
    email: account.email,
    'unconfirmed-email': account.unconfirmedEmail,
    'has-git-hub-app-token': false,
    'is-confirmed': account.confirmed,
    'is-sudo': false,
    ...directoryAttributes(account.scim, settings.scimEnabled),
  };
}

function avatarUrl({ email }: Account): string {
  const address = createHash('md5')
    .update((email ?? '').trim().toLowerCase())
    .digest('hex');
  return `https://www.gravatar.com/avatar/${address}?s=100&d=mm`;
}
