import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Button, CreateButton } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { page, useAddress } from '../pages';
import { encodedPath, useChange, useList } from '../reads';

/** Child namespaces of this session's namespace. */
export function Namespaces() {
  const list = useList('sys/namespaces');
  const { session } = useSession();
  const { ns } = useAddress('/namespaces');
  const here = ns ?? session.namespace ?? '';
  const change = useChange<{ data?: { unlock_key?: string } }>();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  const [locking, setLocking] = useState<string>();
  const [unlockKey, setUnlockKey] = useState<string>();
  return (
    <div className="stack">
      <PageHead
        title="Namespaces"
        actions={<CreateButton onClick={() => setAdding(true)}>Create namespace</CreateButton>}
      >
        <p className="second">Each namespace has its own engines, auth methods, policies and tokens.</p>
        {here === (session.namespace ?? '') ? null : (
          <p>
            You look at <code>{here}</code>.{' '}
            <Link {...page('/namespaces', { ns: here.replace(/[^/]+\/$/, '') })}>Parent namespace</Link>
          </p>
        )}
      </PageHead>
      <ErrorNotice error={list.error ?? change.error} />
      {unlockKey === undefined ? null : (
        <Notice tone="amber" alert>
          <span>The namespace is locked. This key unlocks it, and is shown only once:</span>
          <Copied text={unlockKey} what="unlock key" />
        </Notice>
      )}
      {list.data === undefined && list.error === null ? <Skeleton rows={3} /> : null}
      {list.data?.length === 0 ? (
        <Empty action={<CreateButton onClick={() => setAdding(true)}>Create namespace</CreateButton>}>
          A namespace gives a team its own isolated engines, auth methods and policies.
        </Empty>
      ) : null}
      {list.data === undefined || list.data.length === 0 ? null : (
        <ul className="list">
          {list.data.map((name) => (
            <li key={name}>
              <Link className="grow" {...page('/', { ns: here + name })}>
                {name}
              </Link>
              <Button small kind="quiet" label={`Lock ${name}`} onClick={() => setLocking(name)}>
                Lock
              </Button>
              <Button small kind="quiet" label={`Delete ${name}`} onClick={() => setRemoving(name)}>
                Delete
              </Button>
            </li>
          ))}
        </ul>
      )}
      {adding ? <NewNamespace onClose={() => setAdding(false)} /> : null}
      {locking === undefined ? null : (
        <Confirm
          title={`Lock ${locking}?`}
          action="Lock namespace"
          busy={change.isPending}
          onClose={() => setLocking(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'POST', path: `sys/namespaces/api-lock/lock/${encodedPath(locking.replace(/\/$/, ''))}` },
              {
                onSuccess: (answer) => setUnlockKey(answer?.data?.unlock_key),
                onSettled: () => setLocking(undefined),
              },
            )
          }
        >
          <p>The namespace and everything below it stop answering until they are unlocked with the key you get.</p>
        </Confirm>
      )}
      {removing === undefined ? null : (
        <Confirm
          title={`Delete ${removing}?`}
          action="Delete namespace"
          name={removing.replace(/\/$/, '')}
          danger
          busy={change.isPending}
          onClose={() => setRemoving(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'DELETE', path: `sys/namespaces/${encodedPath(removing.replace(/\/$/, ''))}` },
              { onSettled: () => setRemoving(undefined) },
            )
          }
        >
          <p>All its secrets, policies and tokens are deleted and its leases revoked. This cannot be undone.</p>
        </Confirm>
      )}
      <SameBy api="LIST /v1/sys/namespaces" command="keystead namespace list" />
    </div>
  );
}

function NewNamespace({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const change = useChange(() => onClose());
  const send = () => {
    change.mutate({ method: 'POST', path: `sys/namespaces/${encodedPath(name)}` });
  };
  return (
    <FormDialog title="Create namespace" action="Create namespace" change={change} onSend={send} onBack={onClose}>
      <TextField label="Name" required autoFocus value={name} onChange={setName} />
    </FormDialog>
  );
}
