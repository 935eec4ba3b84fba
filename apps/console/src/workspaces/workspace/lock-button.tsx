import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { needs, refOf } from '../data/documents';
import { useSend } from '../data/use-api';
import { FormDialog, Opener } from '../parts/form';
import type { Workspace } from './use-workspace';

/** Locks with a reason; unlocks; breaks somebody else's lock where one may. */
export function LockButton({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const { permissions, locked } = workspace.attributes;
  const unlock = useSend(() => ({ method: 'POST', path: `workspaces/${workspace.id}/actions/unlock` }));
  const force = useSend(() => ({ method: 'POST', path: `workspaces/${workspace.id}/actions/force-unlock` }));
  if (!locked) {
    return (
      <Opener label="Lock" forbidden={needs(permissions, 'can-lock', org)}>
        {(close) => <LockDialog workspace={workspace} onClose={close} />}
      </Opener>
    );
  }
  const byRun = refOf(workspace, 'locked-by')?.type === 'runs';
  const rule = byRun ? 'A run holds the lock: it ends with the run.' : needs(permissions, 'can-unlock', org);
  return (
    <>
      <ErrorNotice error={unlock.error ?? force.error} />
      {unlock.error === null ? null : (
        <Button
          kind="danger"
          busy={force.busy}
          forbidden={needs(permissions, 'can-force-unlock', org)}
          onClick={() => force.run()}
        >
          Break the lock
        </Button>
      )}
      <Button busy={unlock.busy} forbidden={rule} onClick={() => unlock.run()}>
        Unlock
      </Button>
    </>
  );
}

function LockDialog({ workspace, onClose }: { readonly workspace: Workspace; readonly onClose: () => void }) {
  const [reason, setReason] = useState('');
  const lock = useSend(
    (text: string) => ({
      method: 'POST',
      path: `workspaces/${workspace.id}/actions/lock`,
      body: { reason: text },
    }),
    onClose,
  );
  return (
    <FormDialog
      title={`Lock ${workspace.attributes.name}`}
      action="Lock"
      busy={lock.busy}
      error={lock.error}
      onClose={onClose}
      onSubmit={() => lock.run(reason)}
    >
      <p>While it is locked no run starts, and nobody else writes its state.</p>
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        autoFocus
        hint="Everybody who sees the workspace reads it."
      />
    </FormDialog>
  );
}
