import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from '../../design/form';
import { hasVersions, type Mount } from '../mounts';
import { encodedPath, useChange, useRead } from '../reads';
import { FieldEditor, type FieldRow, fieldsOf, repeated, rowsOf } from './field-editor';
import { type Secret, valuesAt } from './values';

/** Overwrites a secret. If the engine keeps versions, a newer version that someone else wrote is not overwritten. */
export function EditSecret({
  mount,
  path,
  secret,
  onClose,
}: {
  readonly mount: Mount;
  readonly path: string;
  readonly secret: Secret;
  readonly onClose: () => void;
}) {
  const versioned = hasVersions(mount);
  const metadata = useRead<{ current_version: number }>(encodedPath(`${mount.path}metadata/${path}`), {
    enabled: versioned,
  });
  const [rows, setRows] = useState<readonly FieldRow[]>(() => rowsOf(secret.data ?? {}));
  const [problem, setProblem] = useState<string>();
  const queries = useQueryClient();
  const change = useChange(() => {
    void queries.invalidateQueries({ queryKey: ['v1', 'secret', mount.path, path] });
    onClose();
  });
  const send = () => {
    const twice = repeated(rows);
    if (twice !== undefined) return setProblem(`Two fields are named ${twice}.`);
    setProblem(undefined);
    const data = fieldsOf(rows);
    // The latest version when this form was opened.
    const body = versioned ? { data, options: { cas: metadata.data?.current_version ?? secret.version } } : data;
    return change.mutate({ method: 'POST', path: encodedPath(valuesAt(mount, path)), body });
  };
  return (
    <FormDialog
      title={versioned ? 'Create version' : 'Edit'}
      action={versioned ? 'Create version' : 'Save'}
      change={change}
      problem={problem}
      onSend={send}
      onBack={onClose}
    >
      {versioned && secret.version !== undefined ? (
        <p className="second">It begins with the fields of version {secret.version}.</p>
      ) : null}
      <FieldEditor rows={rows} onChange={setRows} />
    </FormDialog>
  );
}
