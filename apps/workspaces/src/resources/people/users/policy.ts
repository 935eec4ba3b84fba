import { policy } from '../../../kernel/access/policy';
import type { Account } from './service';

/**
 * The permissions of a caller on their own account. Account settings belong to users, so other tokens can never change
 * them.
 */
export const userPolicy = policy<Account>()({
  'can-create-organizations': (access, account) => access.isUser && access.principal.id === account.id,
  'can-view2fa-settings': (access, account) => access.isUser && access.principal.id === account.id,
  'can-manage-user-tokens': (access, account) => access.isUser && access.principal.id === account.id,
  'can-change-email': (access, account) => access.isUser && access.principal.id === account.id,
  'can-change-username': (access, account) => access.isUser && access.principal.id === account.id,
  'can-manage-hcp-account': () => false,
});
