import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { rule, useChange } from '../api';
import { Opener } from '../parts/opener';
import type { Workspace } from './use-workspace';

/** Locks with a reason; unlocks; removes another person's lock, if the user may do this. */
export function LockButton({ workspace }: { readonly workspace: Workspace }) {
  const { permissions, locked } = workspace.attributes;
  const params = { path: { workspace_id: workspace.id } };
  const unlock = useChange((api) => api.POST('/api/v2/workspaces/{workspace_id}/actions/unlock', { params }));
  const force = useChange((api) => api.POST('/api/v2/workspaces/{workspace_id}/actions/force-unlock', { params }));
  if (!locked) {
    return (
      <Opener label="Lock" forbidden={rule(permissions['can-lock'], 'can-lock')}>
        {(close) => <LockDialog workspace={workspace} onClose={close} />}
      </Opener>
    );
  }
  const byRun = workspace.relationships['locked-by'].data?.type === 'runs';
  const forbidden = byRun
    ? 'A run holds the lock: it ends with the run.'
    : rule(permissions['can-unlock'], 'can-unlock');
  return (
    <>
      <ErrorNotice error={unlock.error ?? force.error} />
      {unlock.error === null ? null : (
        <Button
          kind="danger"
          busy={force.isPending}
          forbidden={rule(permissions['can-force-unlock'], 'can-force-unlock')}
          onClick={() => force.mutate()}
        >
          Force unlock
        </Button>
      )}
      <Button busy={unlock.isPending} forbidden={forbidden} onClick={() => unlock.mutate()}>
        Unlock
      </Button>
    </>
  );
}

function LockDialog({ workspace, onClose }: { readonly workspace: Workspace; readonly onClose: () => void }) {
  const [reason, setReason] = useState('');
  const params = { path: { workspace_id: workspace.id } };
  const lock = useChange(
    (api) => api.POST('/api/v2/workspaces/{workspace_id}/actions/lock', { params, body: { reason } }),
    onClose,
  );
  return (
    <FormDialog
      title={`Lock ${workspace.attributes.name}`}
      action="Lock"
      change={lock}
      onBack={onClose}
      onSend={() => lock.mutate()}
    >
      <p>While it is locked no run starts, and no one else writes its state.</p>
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        autoFocus
        hint="Everyone who sees the workspace can read it."
      />
    </FormDialog>
  );
}
