import { ApiError } from '../../api/api-error';
import { PasskeyList } from '../../shell/passkey-list';
import { atMount, makePasskey, type PasskeyMount } from '../../shell/passkeys';
import { useSession } from '../../shell/session';

interface OwnPasskeys {
  readonly keys: readonly string[];
  readonly key_info: Readonly<Record<string, { readonly name: string; readonly last_used_time: string | null }>>;
}

/** The passkeys of the userpass user who is signed in. */
export function Passkeys({ at }: { readonly at: PasskeyMount }) {
  const { transport } = useSession();
  const call = <T,>(method: string, path: string, body?: object): Promise<T> => {
    const [url, headers] = atMount(at, path);
    return transport.call<T>(method, url, body, headers);
  };
  const list = async () => {
    try {
      const { keys, key_info } = (await call<{ data: OwnPasskeys }>('GET', 'passkeys?list=true')).data;
      return keys.flatMap((id) => {
        const one = key_info[id];
        return one === undefined ? [] : [{ id, name: one.name, lastUsedAt: one.last_used_time }];
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return [];
      throw error;
    }
  };
  return (
    <PasskeyList
      asksPassword
      list={list}
      add={async (name, password) =>
        call('POST', 'passkey/register', { name, password, credential: await makePasskey(transport, at) })
      }
      remove={(id) => call('DELETE', `passkeys/${id}`)}
    />
  );
}
