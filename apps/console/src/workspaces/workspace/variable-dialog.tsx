import { useState } from 'react';
import type { Resource, WorkspacesApi } from '../../api/workspaces';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { type ApiAnswer, useChange } from '../api';
import { fieldError } from '../parts/draft';

/** A variable as the service shows it; sensitive values never. */
type VariableAttributes = Pick<
  Resource<'VarsResource'>['attributes'],
  'key' | 'value' | 'description' | 'category' | 'hcl' | 'sensitive'
>;

/** What is sent of a variable: no value where a sensitive one is kept. */
type VariableInput = Omit<VariableAttributes, 'value'> & { readonly value?: string };

/** Where variables are: the calls that make, change and remove one. */
export interface VariableHome {
  create(api: WorkspacesApi, attributes: VariableInput): Promise<ApiAnswer<unknown>>;
  change(api: WorkspacesApi, id: string, attributes: VariableInput): Promise<ApiAnswer<unknown>>;
  remove(api: WorkspacesApi, id: string): Promise<ApiAnswer<unknown>>;
}

/** The variables of one workspace. */
export function variablesOfWorkspace(workspace_id: string): VariableHome {
  const one = (variable_id: string) => ({ path: { workspace_id, variable_id } });
  const path = '/api/v2/workspaces/{workspace_id}/vars/{variable_id}';
  return {
    create: (api, attributes) =>
      api.POST('/api/v2/workspaces/{workspace_id}/vars', {
        params: { path: { workspace_id } },
        body: { data: { type: 'vars', attributes } },
      }),
    change: (api, id, attributes) =>
      api.PATCH(path, { params: one(id), body: { data: { type: 'vars', id, attributes } } }),
    remove: (api, id) => api.DELETE(path, { params: one(id) }),
  };
}

/** The variables of one variable set. */
export function variablesOfSet(varset_id: string): VariableHome {
  const one = (variable_id: string) => ({ path: { varset_id, variable_id } });
  const path = '/api/v2/varsets/{varset_id}/relationships/vars/{variable_id}';
  return {
    create: (api, attributes) =>
      api.POST('/api/v2/varsets/{varset_id}/relationships/vars', {
        params: { path: { varset_id } },
        body: { data: { type: 'vars', attributes } },
      }),
    change: (api, id, attributes) =>
      api.PATCH(path, { params: one(id), body: { data: { type: 'vars', id, attributes } } }),
    remove: (api, id) => api.DELETE(path, { params: one(id) }),
  };
}

/** Makes a variable, or changes one. */
export function VariableDialog({
  home,
  variable,
  onClose,
}: {
  readonly home: VariableHome;
  readonly variable?: { readonly id: string; readonly attributes: VariableAttributes };
  readonly onClose: () => void;
}) {
  const was = variable?.attributes;
  const [key, setKey] = useState(was?.key ?? '');
  const [value, setValue] = useState(was?.value ?? '');
  const [description, setDescription] = useState(was?.description ?? '');
  const [category, setCategory] = useState(was?.category ?? 'terraform');
  const [hcl, setHcl] = useState(was?.hcl ?? false);
  const [sensitive, setSensitive] = useState(was?.sensitive ?? false);
  const keeps = was?.sensitive === true && value === '';
  const attributes = { key, description, category, hcl, sensitive, ...(keeps ? {} : { value }) };
  const save = useChange(
    (api) => (variable === undefined ? home.create(api, attributes) : home.change(api, variable.id, attributes)),
    onClose,
  );
  const title = variable === undefined ? 'New variable' : `Change ${was?.key}`;
  return (
    <FormDialog title={title} action="Save variable" change={save} onBack={onClose} onSend={() => save.mutate()}>
      <TextField
        label="Key"
        value={key}
        onChange={setKey}
        required
        autoFocus={was === undefined}
        error={fieldError(save.error, 'key')}
      />
      <TextField
        label="Value"
        rows={3}
        masked={sensitive}
        value={value}
        onChange={setValue}
        error={fieldError(save.error, 'value')}
        {...(was?.sensitive ? { hint: 'Nobody can read it. Leave it empty to keep it.' } : {})}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      <SelectField
        label="Category"
        value={category}
        onChange={(value) => setCategory(value as typeof category)}
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
