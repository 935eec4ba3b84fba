import { createHash } from 'node:crypto';
import { related, serializer, toOne } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import { abilities } from '../../kernel/policy';
import { userPolicy } from './policy';
import type { Account } from './service';

/** A person or service account. Settings are shown to themselves only, the address also to who manages their membership. */
export const userSerializer = serializer<Account, View>({
  type: 'users',
  id: (account) => account.id,
  self: (account) => `/api/v2/users/${account.id}`,
  attributes: (account, view) => ({
    username: account.username,
    'is-service-account': account.resource.type !== 'users',
    'auth-method': 'password',
    'avatar-url': avatarUrl(account),
    'v2-only': false,
    ...(isSelf(account, view) ? ownAttributes(account) : managesMember(view) ? { email: account.email } : {}),
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

/** Users that come along with what an organization shows: whoever invites its members knows their addresses. */
function managesMember({ access }: View): boolean {
  return access.organizationIds.some((id) => access.can(id, 'manage-membership'));
}

function ownAttributes(account: Account) {
  return {
    email: account.email,
    'unconfirmed-email': account.unconfirmedEmail,
    'has-git-hub-app-token': false,
    'is-confirmed': account.confirmed,
    'is-sudo': false,
  };
}

function avatarUrl({ email }: Account): string {
  const address = createHash('md5')
    .update((email ?? '').trim().toLowerCase())
    .digest('hex');
  return `https://www.gravatar.com/avatar/${address}?s=100&d=mm`;
}
