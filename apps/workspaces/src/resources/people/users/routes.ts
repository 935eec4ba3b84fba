import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import { userPolicy } from './policy';
import { ChangePassword, UpdateAccount } from './schema';
import { userSerializer } from './serializer';
import * as users from './service';

const { get, patch } = endpoints(userPolicy, userSerializer);

const details = get('/account/details', {
  summary: "Show the caller's account: a user, or the service account of a team or organization token.",
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: async ({ target }) => target,
});

const update = patch('/account/update', {
  summary:
    'Change the caller’s user name, or request a new email address. To verify a new address, the user opens the link mailed to it and enters the password.',
  tokens: ['user'],
  requires: 'can-change-username',
  body: UpdateAccount,
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: ({ db, env, target, body, ...call }) => users.update(db, env, actorOf(call), target.id, body),
});

const password = patch('/account/password', {
  summary: 'Change the caller’s password. All other sessions end.',
  tokens: ['user'],
  requires: 'can-change-username',
  body: ChangePassword,
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: ({ db, env, target, body, ...call }) => users.changePassword(db, env, actorOf(call), target.id, body),
});

const show = get('/users/:user_id', {
  summary: 'Show a user. The email address is shown only to the user.',
  load: ({ db, params, principal }) => users.findKnown(db, principal, params.user_id),
  run: async ({ target }) => target,
});

const usersIncluded = includable<users.Account>({
  serializer: userSerializer,
  load: users.findMany,
  visible: () => true,
});

/** People and their accounts. */
export const userResource: Resource = {
  name: 'users',
  endpoints: [details, update, password, show],
  includable: { users: usersIncluded },
};
