import { codeRequired, type Sessions, type SessionView } from '@keystead/console-host';

import type { Database } from '../../../kernel/database/database';
import { version } from '../../../kernel/installation/version';
import { type ConsoleSessions, lacksCode } from './console';

/** Facts about the service that the sign-in page shows. */
export interface ConsoleFacts {
  readonly db: Database;
  readonly edition: string;
  readonly secretsUrl: string | undefined;
  /** The providers at which people sign in. */
  offered(): Promise<readonly object[]>;
}

/** Console sessions, in the form that the console's host needs. */
export function consoleAdapter(
  sessions: ConsoleSessions,
  { db, edition, secretsUrl, offered }: ConsoleFacts,
): Sessions {
  const shown = (view: object): SessionView => view as SessionView;
  return {
    async config() {
      const someone = await db.prisma.user.findFirst({ select: { id: true } });
      return {
        service: 'workspaces',
        version,
        edition,
        other: secretsUrl === undefined ? {} : { secrets: secretsUrl },
        'sign-in': [...(await offered()), { method: 'password' }, { method: 'passkey' }, { method: 'token' }],
        'needs-first-run': someone === null,
      };
    },
    async signIn(proof, from) {
      try {
        const session = await sessions.create(proof, from);
        return { ...session, view: shown(session.view) };
      } catch (error) {
        throw proof.code === undefined && proof.passkey === undefined && lacksCode(error) ? codeRequired() : error;
      }
    },
    async show(id) {
      const found = await sessions.find(id);
      return found && shown(found);
    },
    signOut: (id, { requestId }) => sessions.end(id, requestId),
    stepUp: async (id, proof, { browser }) => shown(await sessions.stepUp(id, proof, browser)),
  };
}
