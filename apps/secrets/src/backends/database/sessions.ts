import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { stillThere } from '../../sdk/collection';
import { path } from '../../sdk/path';
import { data } from '../../sdk/reply';
import { timeText } from '../../sdk/time-text';
import type { Databases } from './databases';
import { mostSessions, type ServerSession } from './driver';
import { staticRoles } from './static-record';

/** The maximum number of leases and static roles that are read to find the owners of users. */
const most = 1000;

/** The owner of a database user. */
interface UserOwner {
  readonly kind: 'dynamic' | 'static' | 'root' | 'other';
  readonly role?: string;
  readonly lease?: { readonly id: string; readonly issuedAtMs: number; readonly expiresAtMs: number };
}

const output = z.object({
  users: z.array(
    z.object({
      username: z.string(),
      kind: z
        .enum(['dynamic', 'static', 'root', 'other'])
        .describe(
          'dynamic: a user created from a role. root: the configured user. other: a user that this engine does not manage.',
        ),
      role: z.string().nullable().describe('The role or static role to which the user belongs.'),
      lease_id: z.string().nullable(),
      issue_time: z.string().nullable(),
      expire_time: z.string().nullable(),
      sessions: z.array(
        z.object({
          id: z.string().describe('Number of the session on the server.'),
          address: z.string().describe('IP address of the client; empty if the server does not report it.'),
          application: z.string().describe('Application name that the client reports; empty if it reports none.'),
          state: z.string().describe('State of the session, as the server reports it.'),
          connect_time: z.string().nullable(),
        }),
      ),
    }),
  ),
  complete: z.boolean().describe('False if there are more sessions, leases or static roles than this request reads.'),
});

/** Live leases and static roles, with the sessions that the server has for them. */
export const sessionsPath = (databases: Databases) =>
  path('config/:name/sessions', {
    summary: 'The users and sessions of a database.',
    description:
      'Lists the users that this service manages on the connection, and other users with sessions, as far as the configured user can see them.',
    params: { name: 'name-at' },
    sudo: true,
    read: {
      summary: 'List the users and sessions of a database.',
      operationId: 'list-sessions',
      output,
      async run(call) {
        const { params, storage, mount } = call;
        const { config, sessions } = await databases.open(storage, mount, params.name);
        const { owners, isWhole } = await ownersOf(call, params.name);
        owners.set(config.username, { kind: 'root' });
        const found = await sessions();
        const byUser = new Map<string, ServerSession[]>([...owners.keys()].map((name) => [name, []]));
        for (const session of found.slice(0, mostSessions)) {
          const userSessions = byUser.get(session.username);
          if (userSessions) userSessions.push(session);
          else byUser.set(session.username, [session]);
        }
        const users = [...byUser].sort(([a], [b]) => (a < b ? -1 : 1));
        return data({
          users: users.map(([username, userSessions]) =>
            shown(username, owners.get(username) ?? { kind: 'other' }, userSessions),
          ),
          complete: isWhole && found.length <= mostSessions,
        });
      },
    },
  });

async function ownersOf(call: Call, connection: string) {
  const owners = new Map<string, UserOwner>();
  const leases = await call.liveLeases('creds/', most + 1);
  for (const { internal, ...lease } of leases.slice(0, most)) {
    if (internal.connection === connection) {
      owners.set(String(internal.name), { kind: 'dynamic', role: String(internal.role), lease });
    }
  }
  const names = await staticRoles.list(call.storage, { limit: most + 1 });
  const roles = await stillThere(names.slice(0, most), (name) => staticRoles.find(call.storage, name));
  for (const [role, { db_name, username, second_username }] of roles) {
    if (db_name !== connection) continue;
    for (const user of [username, second_username]) if (user) owners.set(user, { kind: 'static', role });
  }
  return { owners, isWhole: leases.length <= most && names.length <= most };
}

function shown(username: string, { kind, role, lease }: UserOwner, sessions: readonly ServerSession[]) {
  return {
    username,
    kind,
    role: role ?? null,
    lease_id: lease?.id ?? null,
    issue_time: timeText(lease?.issuedAtMs),
    expire_time: timeText(lease?.expiresAtMs),
    sessions: sessions.map(({ id, address, application, state, sinceMs }) => ({
      id,
      address,
      application,
      state,
      connect_time: timeText(sinceMs),
    })),
  };
}
