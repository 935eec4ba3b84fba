import { PasskeyList } from '../../shell/passkey-list';
import { makePasskey } from '../../shell/passkeys';
import { useSession } from '../../shell/session';

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly 'last-used-at': string | null;
}

/** The passkeys of the person’s own account. */
export function Passkeys() {
  const { transport } = useSession();
  return (
    <PasskeyList
      list={async () =>
        (await transport.call<readonly Passkey[]>('GET', '/ui/passkeys')).map(
          ({ id, name, 'last-used-at': lastUsedAt }) => ({ id, name, lastUsedAt }),
        )
      }
      add={async (name) => transport.call('POST', '/ui/passkeys', { name, answer: await makePasskey(transport) })}
      remove={(id) => transport.call('DELETE', `/ui/passkeys/${id}`)}
    />
  );
}
