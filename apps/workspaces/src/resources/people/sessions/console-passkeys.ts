import type { Passkeys, SessionView } from '@keystead/console-host';
import type { Principal } from '../../../kernel/access/principal';
import { actorOf } from '../../../kernel/audit/audit';
import * as passkeys from './passkeys';
import { parseProof } from './proofs';

/** The user of a session. With the option set, throws unless the session may change the account's sign-in methods. */
type PersonOf = (session: string, changesAccess: boolean) => Promise<Principal>;

/** Passkeys, in the form that the console's host needs. */
export function consolePasskeys(parts: passkeys.PasskeyParts, personOf: PersonOf): Passkeys {
  const view = (shown: object): SessionView => shown as SessionView;
  const actorFor = async (session: string, requestId: string) =>
    actorOf({ principal: await personOf(session, true), request: { id: requestId } });
  return {
    async ask(purpose, asker) {
      const person = asker.session === undefined ? undefined : await personOf(asker.session, purpose === 'add');
      return view(await passkeys.ask(parts, { purpose, asker }, person));
    },
    list: async (session) => (await passkeys.list(parts.db, (await personOf(session, false)).id)).map(view),
    async add(input, asker, { requestId }) {
      const actor = await actorFor(asker.session, requestId);
      const added = parseProof(passkeys.NewPasskey, input, 'give name and answer');
      return view(await passkeys.add(parts, { purpose: 'add', asker }, actor, added));
    },
    remove: async (session, id, { requestId }) => passkeys.remove(parts.db, await actorFor(session, requestId), id),
  };
}
