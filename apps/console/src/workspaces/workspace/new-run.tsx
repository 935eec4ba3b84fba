import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { rule, useChange } from '../api';
import { Opener } from '../parts/opener';
import type { Workspace } from './use-workspace';

const kinds = [
  { value: 'apply', label: 'Plan and apply (standard)' },
  { value: 'plan', label: 'Plan only' },
  { value: 'save', label: 'Save plan' },
  { value: 'refresh', label: 'Refresh state' },
  { value: 'destroy', label: 'Destroy' },
];

/** Starts a run with the newest configuration. */
export function NewRun({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const { permissions, 'execution-mode': mode } = workspace.attributes;
  const elsewhere =
    mode === 'local' ? 'The execution mode is local: people plan and apply on their own machines.' : undefined;
  return (
    <Opener
      label="Start run"
      kind="primary"
      forbidden={elsewhere ?? rule(permissions['can-queue-run'], 'can-queue-run')}
    >
      {(close) => <RunDialog workspace={workspace} org={org} onClose={close} />}
    </Opener>
  );
}

function RunDialog({
  workspace,
  org,
  onClose,
}: {
  readonly workspace: Workspace;
  readonly org: string;
  readonly onClose: () => void;
}) {
  const [kind, setKind] = useState('apply');
  const [message, setMessage] = useState('');
  const [targets, setTargets] = useState('');
  const [auto, setAuto] = useState(workspace.attributes['auto-apply']);
  const navigate = useNavigate();
  const lines = targets.split('\n').filter((line) => line.trim() !== '');
  const attributes = {
    ...(message === '' ? {} : { message }),
    ...(kind === 'apply' ? { 'auto-apply': auto } : {}),
    ...(kind === 'plan' ? { 'plan-only': true } : {}),
    ...(kind === 'save' ? { 'save-plan': true } : {}),
    ...(kind === 'refresh' ? { 'refresh-only': true } : {}),
    ...(kind === 'destroy' ? { 'is-destroy': true } : {}),
    ...(lines.length === 0 ? {} : { 'target-addrs': lines }),
  };
  const relationships = { workspace: { data: { type: 'workspaces' as const, id: workspace.id } } };
  const start = useChange(
    (api) => api.POST('/api/v2/runs', { body: { data: { type: 'runs', attributes, relationships } } }),
    ({ data }) => {
      onClose();
      void navigate({ to: `/organizations/${org}/workspaces/${workspace.attributes.name}/runs/${data?.id}` });
    },
  );
  return (
    <FormDialog
      title={`Start run in ${workspace.attributes.name}`}
      action={kind === 'destroy' ? 'Plan to destroy everything' : 'Start run'}
      change={start}
      onBack={onClose}
      onSend={() => start.mutate()}
    >
      <SelectField label="Run type" value={kind} onChange={setKind} options={kinds} />
      <TextField label="Message" value={message} onChange={setMessage} placeholder="Reason for starting the run" />
      {kind === 'apply' ? <CheckField label="Auto apply" checked={auto} onChange={setAuto} /> : null}
      <details>
        <summary className="second small">Resource targets</summary>
        <TextField
          label="Target addresses"
          rows={3}
          value={targets}
          onChange={setTargets}
          hint="One per line, such as aws_instance.web"
        />
      </details>
    </FormDialog>
  );
}
