import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { knowsPasskeys, makePasskey } from '../../shell/passkeys';
import { useSession } from '../../shell/session';

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
}

const key = ['account', 'passkeys'];

/** Passkeys of the own account: signing in with the device instead of a password and a code. */
export function Passkeys() {
  const { transport } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [removing, setRemoving] = useState<Passkey>();
  const known = useQuery({ queryKey: key, queryFn: () => transport.call<readonly Passkey[]>('GET', '/ui/passkeys') });
  const again = () => queries.invalidateQueries({ queryKey: key });
  const add = useMutation({
    mutationFn: async () => transport.call('POST', '/ui/passkeys', { name, answer: await makePasskey(transport) }),
    onSuccess: async () => {
      setName('');
      await again();
    },
  });
  const remove = useMutation({
    mutationFn: ({ id }: Passkey) => transport.call('DELETE', `/ui/passkeys/${id}`),
    onSuccess: async () => {
      setRemoving(undefined);
      await again();
    },
  });
  return (
    <section className="stack-tight" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p>Sign in with a device or security key instead of your password and a code.</p>
      <ErrorNotice error={known.error} onRetry={() => void known.refetch()} />
      {known.isPending ? <Skeleton rows={1} /> : null}
      {known.data === undefined || known.data.length === 0 ? null : (
        <ul className="list" aria-label="Your passkeys">
          {known.data.map((passkey) => (
            <li key={passkey.id} className="row spread">
              <span>
                {passkey.name}{' '}
                <span className="second small">
                  {passkey['last-used-at'] === null ? (
                    'never used'
                  ) : (
                    <>
                      used <Time at={passkey['last-used-at']} />
                    </>
                  )}
                </span>
              </span>
              <Button kind="danger" onClick={() => setRemoving(passkey)}>
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      <Form
        layout="line"
        action="Add passkey"
        change={add}
        forbidden={knowsPasskeys() ? undefined : 'This browser cannot use passkeys, or the page is not secure.'}
        onSend={() => add.mutate()}
      >
        <TextField label="Name" required value={name} onChange={setName} hint="For example the device it is on." />
      </Form>
      {removing === undefined ? null : (
        <Confirm
          title={`Remove ${removing.name}?`}
          action="Remove passkey"
          danger
          busy={remove.isPending}
          onClose={() => setRemoving(undefined)}
          onConfirm={() => remove.mutate(removing)}
        >
          <p>It no longer signs you in. Delete it on the device as well.</p>
          <ErrorNotice error={remove.error} />
        </Confirm>
      )}
    </section>
  );
}
