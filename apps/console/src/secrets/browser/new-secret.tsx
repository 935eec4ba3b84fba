import { useState } from 'react';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { hasVersions, type Mount } from '../mounts';
import { encodedPath, useChange } from '../reads';
import { FieldEditor, type FieldRow, fieldsOf, repeated, rowsOf } from './field-editor';
import { valuesAt } from './values';

/** Creates a secret in a folder. If the engine keeps versions, an existing secret is not replaced. */
export function NewSecret({
  mount,
  folder,
  onClose,
  onDone,
}: {
  readonly mount: Mount;
  readonly folder: string;
  readonly onClose: () => void;
  readonly onDone: (path: string) => void;
}) {
  const [name, setName] = useState('');
  const [rows, setRows] = useState<readonly FieldRow[]>(() => rowsOf({}));
  const [missing, setMissing] = useState<string>();
  const path = folder + name.replace(/^\/+|\/+$/g, '');
  const change = useChange(() => {
    onClose();
    onDone(path);
  });
  const send = () => {
    const twice = repeated(rows);
    const fields = fieldsOf(rows);
    if (path === folder) return setMissing('A secret needs a name.');
    if (twice !== undefined) return setMissing(`Two fields are named ${twice}.`);
    if (Object.keys(fields).length === 0) return setMissing('A secret needs a field.');
    setMissing(undefined);
    const body = hasVersions(mount) ? { data: fields, options: { cas: 0 } } : fields;
    return change.mutate({ method: 'POST', path: encodedPath(valuesAt(mount, path)), body });
  };
  return (
    <FormDialog
      title="Create secret"
      action="Create secret"
      change={change}
      problem={missing}
      onSend={send}
      onBack={onClose}
    >
      <TextField
        label="Path"
        required
        autoFocus
        value={name}
        onChange={setName}
        hint={
          <>
            Below <code>{mount.path + folder}</code>. Slashes make folders.
          </>
        }
      />
      <FieldEditor rows={rows} onChange={setRows} />
    </FormDialog>
  );
}
