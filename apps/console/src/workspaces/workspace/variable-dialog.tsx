import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../design/field';
import { document } from '../data/documents';
import { useSend } from '../data/use-api';
import { FormDialog, faultOf } from '../parts/form';

/** A variable as the service shows it; sensitive values never. */
export interface VariableAttributes {
  readonly key: string;
  readonly value: string | null;
  readonly description: string | null;
  readonly category: 'terraform' | 'env';
  readonly hcl: boolean;
  readonly sensitive: boolean;
}

/** Makes a variable, or changes one, at a place such as `workspaces/ws-1/vars`. */
export function VariableDialog({
  path,
  variable,
  onClose,
}: {
  readonly path: string;
  readonly variable?: { readonly id: string; readonly attributes: VariableAttributes };
  readonly onClose: () => void;
}) {
  const was = variable?.attributes;
  const [key, setKey] = useState(was?.key ?? '');
  const [value, setValue] = useState(was?.value ?? '');
  const [description, setDescription] = useState(was?.description ?? '');
  const [category, setCategory] = useState<string>(was?.category ?? 'terraform');
  const [hcl, setHcl] = useState(was?.hcl ?? false);
  const [sensitive, setSensitive] = useState(was?.sensitive ?? false);
  const keeps = was?.sensitive === true && value === '';
  const save = useSend(() => {
    const attributes = { key, description, category, hcl, sensitive, ...(keeps ? {} : { value }) };
    return variable === undefined
      ? { method: 'POST', path, body: document('vars', attributes) }
      : { method: 'PATCH', path: `${path}/${variable.id}`, body: document('vars', attributes, {}, variable.id) };
  }, onClose);
  const title = variable === undefined ? 'New variable' : `Change ${was?.key}`;
  return (
    <FormDialog
      title={title}
      action="Save variable"
      busy={save.busy}
      error={save.error}
      onClose={onClose}
      onSubmit={() => save.run()}
    >
      <TextField
        label="Key"
        value={key}
        onChange={setKey}
        required
        autoFocus={was === undefined}
        error={faultOf(save.error, 'key')}
      />
      <TextField
        label="Value"
        rows={3}
        masked={sensitive}
        value={value}
        onChange={setValue}
        error={faultOf(save.error, 'value')}
        {...(was?.sensitive ? { hint: 'Nobody can read it. Leave it empty to keep it.' } : {})}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      <SelectField
        label="Category"
        value={category}
        onChange={setCategory}
        options={[
          { value: 'terraform', label: 'Terraform variable' },
          { value: 'env', label: 'environment variable' },
        ]}
      />
      {category === 'terraform' ? (
        <CheckField label="HCL: the value is an expression" checked={hcl} onChange={setHcl} />
      ) : null}
      <CheckField
        label="Sensitive"
        checked={sensitive}
        onChange={setSensitive}
        hint="It is never shown again, and cannot be made readable."
      />
    </FormDialog>
  );
}
