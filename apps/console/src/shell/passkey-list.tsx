import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../design/button';
import { Confirm } from '../design/dialog';
import { ErrorNotice } from '../design/error-notice';
import { TextField } from '../design/field';
import { Form } from '../design/form';
import { Skeleton } from '../design/page';
import { Time } from '../design/time';
import { knowsPasskeys } from './passkeys';

/** A passkey of the person. Times are ISO 8601. */
export interface ShownPasskey {
  readonly id: string;
  readonly name: string;
  readonly lastUsedAt: string | null;
}

export interface PasskeyListProps {
  list(): Promise<readonly ShownPasskey[]>;
  /** Creates a passkey. `password` is empty unless `asksPassword` is set. */
  add(name: string, password: string): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  /** Whether the user must enter the password to add a passkey. */
  readonly asksPassword?: boolean;
}

const key = ['account', 'passkeys'];

/** The person's own passkeys: with a passkey, the device replaces the password and the code. */
export function PasskeyList({ list, add: create, remove: end, asksPassword = false }: PasskeyListProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [removing, setRemoving] = useState<ShownPasskey>();
  const passkeys = useQuery({ queryKey: key, queryFn: list });
  const again = () => queries.invalidateQueries({ queryKey: key });
  const add = useMutation({
    mutationFn: () => create(name, password),
    onSuccess: async () => {
      setName('');
      setPassword('');
      await again();
    },
  });
  const remove = useMutation({
    mutationFn: ({ id }: ShownPasskey) => end(id),
    onSuccess: async () => {
      setRemoving(undefined);
      await again();
    },
  });
  return (
    <section className="stack-tight" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p>Sign in with a device or security key instead of your password and a code.</p>
      <ErrorNotice error={passkeys.error} onRetry={() => void passkeys.refetch()} />
      {passkeys.isPending ? <Skeleton rows={1} /> : null}
      {passkeys.data === undefined || passkeys.data.length === 0 ? null : (
        <ul className="list" aria-label="Your passkeys">
          {passkeys.data.map((passkey) => (
            <li key={passkey.id} className="row spread">
              <span>
                {passkey.name}{' '}
                <span className="second small">
                  {passkey.lastUsedAt === null ? (
                    'never used'
                  ) : (
                    <>
                      used <Time at={passkey.lastUsedAt} />
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
        <TextField
          label="Name"
          required
          value={name}
          onChange={setName}
          hint="For example, the device that holds it."
        />
        {asksPassword ? (
          <TextField
            label="Password"
            type="password"
            required
            autoComplete="current-password"
            value={password}
            onChange={setPassword}
          />
        ) : null}
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
