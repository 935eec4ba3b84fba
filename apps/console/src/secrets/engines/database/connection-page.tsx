import { RefreshCw, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { Facts } from '../../../design/facts';
import { Notice } from '../../../design/notice';
import { Time } from '../../../design/time';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';
import { CreateLink } from '../create-link';
import { RecordForm } from '../record-form';
import { RecordPage, sameBy } from '../record-page';
import { type Connection, connectionGroups, hostOf, labelOfPlugin, writtenOf } from './connection';
import { rootRotationOf } from './root-rotation';
import { Sessions } from './sessions';
import { VerifyButton } from './verify';

/** A connection: whether it works, the password of its user, and its settings. */
export function ConnectionPage({ mount, name }: { readonly mount: string; readonly name: string }) {
  const path = `${mount}config/${name}`;
  return (
    <RecordPage<Connection>
      mount={mount}
      tab="connections"
      list="config"
      name={name}
      one="connection"
      parts={[
        { part: 'overview', label: 'Overview', same: sameBy('read', path) },
        { part: 'sessions', label: 'Sessions', same: sameBy('read', `${path}/sessions`), readless: true },
        { part: 'settings', label: 'Settings', same: sameBy('write', path, 'allowed_roles=…') },
      ]}
      actions={() => <VerifyButton mount={mount} name={name} />}
      deletion="Users that were created through it can no longer be dropped by this service: revoke their leases first."
      isFinal
    >
      {(part, connection) =>
        part === 'sessions' ? (
          <Sessions mount={mount} name={name} />
        ) : connection === undefined ? null : part === 'settings' ? (
          <RecordForm
            mount={mount}
            tab="connections"
            list="config"
            name={name}
            one="connection"
            stored={{ ...writtenOf(connection), verify_connection: true }}
            groups={() => connectionGroups(connection.plugin_name, false)}
          />
        ) : (
          <Overview mount={mount} name={name} of={connection} />
        )
      }
    </RecordPage>
  );
}

function Overview({ mount, name, of }: { readonly mount: string; readonly name: string; readonly of: Connection }) {
  const { connection_details: details } = of;
  const user = String(details.username ?? '');
  const rotatePath = `${mount}rotate-root/${name}`;
  const resetPath = `${mount}reset/${name}`;
  const may = useMay([rotatePath, resetPath]);
  const rotate = useChange();
  const reset = useChange();
  const [rotating, setRotating] = useState(false);
  return (
    <div className="stack">
      {of.last_rotation_error ? (
        <Notice tone="red">The last root rotation failed: {of.last_rotation_error}</Notice>
      ) : null}
      <Facts
        rows={[
          ['Plugin', labelOfPlugin(of.plugin_name)],
          ['Host', <code key="host">{hostOf(details)}</code>],
          ['Username', <code key="user">{user}</code>],
          ['Allowed roles', of.allowed_roles.length === 0 ? 'none' : of.allowed_roles.join(', ')],
          ['Root rotation', rootRotationOf(of)],
          ...(of.last_rotation ? [['Last root rotation', <Time key="last" at={of.last_rotation} />] as const] : []),
          ...(of.next_rotation ? [['Next root rotation', <Time key="next" at={of.next_rotation} />] as const] : []),
        ]}
      />
      <div className="row">
        <CreateLink mount={mount} tab="roles">
          Create role
        </CreateLink>
        <Button
          icon={RotateCw}
          {...may({ path: rotatePath, capabilities: ['update'] })}
          onClick={() => setRotating(true)}
        >
          Rotate root credentials
        </Button>
        <Button
          icon={RefreshCw}
          busy={reset.isPending}
          {...may({ path: resetPath, capabilities: ['update'] })}
          onClick={() => reset.mutate({ method: 'POST', path: encodedPath(resetPath) })}
        >
          Reset connection
        </Button>
      </div>
      <ErrorNotice error={reset.error} />
      {reset.isSuccess ? (
        <Notice tone="green">Its connections were closed on all nodes; the next call opens others.</Notice>
      ) : null}
      {rotate.isSuccess ? <Notice tone="green">The password of {user} was changed.</Notice> : null}
      {rotating ? (
        <Confirm
          title={`Rotate the root credentials of ${name}?`}
          action="Rotate root credentials"
          danger
          busy={rotate.isPending}
          onClose={() => setRotating(false)}
          onConfirm={() =>
            rotate.mutate({ method: 'POST', path: encodedPath(rotatePath) }, { onSuccess: () => setRotating(false) })
          }
        >
          <p>
            The password of <code>{user}</code> is replaced by one that only this service knows. It is not shown, not
            even to you. Everything else that logs in as this user stops working.
          </p>
          <ErrorNotice error={rotate.error} />
        </Confirm>
      ) : null}
    </div>
  );
}
