import { useState } from 'react';
import type { WorkspacesApi } from '../../api/workspaces';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { type ApiAnswer, useChange } from '../api';
import { fieldError } from '../parts/draft';

/** Asks for a secret, which is stored encrypted and never shown again. */
export function NewSecret({
  title,
  label,
  action,
  attribute,
  hint,
  rows,
  call,
  onClose,
}: {
  readonly title: string;
  readonly label: string;
  readonly action: string;
  /** The attribute that errors about the secret point to. */
  readonly attribute: string;
  readonly hint: string;
  /** The rows of a secret with several lines. */
  readonly rows?: number;
  /** Sends the secret. */
  readonly call: (api: WorkspacesApi, text: string) => Promise<ApiAnswer<unknown>>;
  readonly onClose: () => void;
}) {
  const [value, setValue] = useState('');
  const save = useChange(call, onClose);
  return (
    <FormDialog title={title} action={action} change={save} onBack={onClose} onSend={() => save.mutate(value)}>
      <TextField
        label={label}
        required
        autoFocus
        masked
        {...(rows === undefined ? {} : { rows })}
        value={value}
        onChange={setValue}
        error={fieldError(save.error, attribute)}
        hint={hint}
      />
    </FormDialog>
  );
}
