import { Link } from '@tanstack/react-router';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { Facts } from '../../../design/facts';
import { Time } from '../../../design/time';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange } from '../../reads';
import { Credentials } from '../credentials';
import { RecordPage, sameBy } from '../record-page';
import type { StaticRole } from './role';
import { StaticRoleForm } from './role-form';
import { Next } from './roles';

const fields = [
  { name: 'username', label: 'Username' },
  { name: 'password', label: 'Password', isSecret: true },
] as const;

/** A user whose password the service changes: its credentials, the next rotation, and its settings. */
export function StaticRolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  return (
    <RecordPage<StaticRole>
      mount={mount}
      tab="static-roles"
      name={name}
      one="static role"
      parts={[
        {
          part: 'credentials',
          label: 'Credentials',
          same: sameBy('read', `${mount}static-creds/${name}`),
          readless: true,
        },
        {
          part: 'settings',
          label: 'Settings',
          same: sameBy('write', `${mount}static-roles/${name}`, 'rotation_period=24h'),
        },
      ]}
      actions={({ username }) => <RotateButton mount={mount} name={name} username={username} />}
      deletion="The user is kept with its current password, which is no longer rotated."
    >
      {(part, role) =>
        part === 'settings' && role !== undefined ? (
          <StaticRoleForm
            mount={mount}
            name={name}
            stored={{ ...role, how: role.rotation_schedule ? 'schedule' : 'period' }}
          />
        ) : (
          <div className="stack">
            {role === undefined ? null : (
              <Facts
                rows={[
                  [
                    'Connection',
                    <Link key="connection" {...mountPage({ mount, tab: 'connections', name: role.db_name })}>
                      {role.db_name}
                    </Link>,
                  ],
                  ['Username', <code key="user">{role.username}</code>],
                  ...(role.second_username
                    ? [['Second username', <code key="second">{role.second_username}</code>] as const]
                    : []),
                  ['Last rotation', <Time key="last" at={role.last_vault_rotation} />],
                  ['Next rotation', <Next key="next" of={role} />],
                ]}
              />
            )}
            <Credentials path={`${mount}static-creds/${name}`} method="GET" fields={fields} isOnce={false} />
          </div>
        )
      }
    </RecordPage>
  );
}

function RotateButton({
  mount,
  name,
  username,
}: {
  readonly mount: string;
  readonly name: string;
  readonly username: string;
}) {
  const path = `${mount}rotate-role/${name}`;
  const may = useMay([path]);
  const rotate = useChange();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button icon={RotateCw} {...may({ path, capabilities: ['update'] })} onClick={() => setAsking(true)}>
        Rotate credentials
      </Button>
      {asking ? (
        <Confirm
          title={`Rotate the credentials of ${name}?`}
          action="Rotate now"
          danger
          busy={rotate.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            rotate.mutate({ method: 'POST', path: encodedPath(path) }, { onSuccess: () => setAsking(false) })
          }
        >
          <p>
            The user <code>{username}</code> gets a new password now. Programs that keep the old one cannot log in again
            until they read the new one.
          </p>
          <ErrorNotice error={rotate.error} />
        </Confirm>
      ) : null}
    </>
  );
}
