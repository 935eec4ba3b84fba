import { useState } from 'react';
import type { WorkspacesApi } from '../../api/workspaces';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { type ApiAnswer, useChange } from '../api';
import { fieldError } from '../parts/draft';

/** Asks for a text that is kept sealed and never shown again. */
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
  /** The attribute that is refused where the text is not a good. */
  readonly attribute: string;
  readonly hint: string;
  /** Of a text that is longer than a line. */
  readonly rows?: number;
  /** Sends the text. */
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
