import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import { userPolicy } from './policy';
import { ChangePassword, UpdateAccount } from './schema';
import { userSerializer } from './serializer';
import * as users from './service';

const { get, patch } = endpoints(userPolicy, userSerializer);

const details = get('/account/details', {
  summary: "Show the caller's account: a person, or the service account of a team or organization token.",
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: async ({ target }) => target,
});

const update = patch('/account/update', {
  summary:
    'Change the caller’s name, or request another address, which is confirmed by opening the link mailed to it with the password.',
  tokens: ['user'],
  requires: 'can-change-username',
  body: UpdateAccount,
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: ({ db, env, target, body, ...call }) => users.update(db, env, actorOf(call), target.id, body),
});

const password = patch('/account/password', {
  summary: 'Change the caller’s password; all other sessions end.',
  tokens: ['user'],
  requires: 'can-change-username',
  body: ChangePassword,
  load: ({ db, principal }) => users.findCaller(db, principal),
  run: ({ db, env, target, body, ...call }) => users.changePassword(db, env, actorOf(call), target.id, body),
});

const show = get('/users/:user_id', {
  summary: 'Show a person. Their address is shown to themselves only.',
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
