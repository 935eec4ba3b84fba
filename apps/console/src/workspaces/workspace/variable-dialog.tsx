import type { Resource, WorkspacesApi } from '../../api/workspaces';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { type ApiAnswer, useChange } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';

/** A variable as the service shows it, without sensitive values. */
type VariableAttributes = Pick<
  Resource<'VarsResource'>['attributes'],
  'key' | 'value' | 'description' | 'category' | 'hcl' | 'sensitive'
>;

/** The attributes to send. A sensitive value that is not changed is left out. */
type VariableInput = Omit<VariableAttributes, 'value'> & { readonly value?: string };

/** The API calls that create, change and remove a variable. */
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

/** Creates or changes a variable. */
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
  const draft = useDraft({
    key: was?.key ?? '',
    value: was?.value ?? '',
    description: was?.description ?? '',
    category: was?.category ?? ('terraform' as const),
    hcl: was?.hcl ?? false,
    sensitive: was?.sensitive ?? false,
  });
  const { value, ...rest } = draft.value;
  const keeps = was?.sensitive === true && value === '';
  const attributes = { ...rest, ...(keeps ? {} : { value }) };
  const save = useChange(
    (api) => (variable === undefined ? home.create(api, attributes) : home.change(api, variable.id, attributes)),
    onClose,
  );
  const { field, check } = fieldsOf(draft, save.error);
  const title = variable === undefined ? 'Create variable' : `Change ${was?.key}`;
  return (
    <FormDialog
      title={title}
      action={variable === undefined ? title : 'Save changes'}
      change={save}
      onBack={onClose}
      onSend={() => save.mutate()}
    >
      <TextField label="Key" required autoFocus={was === undefined} {...field('key')} />
      <TextField
        label="Value"
        rows={3}
        masked={rest.sensitive}
        {...(was?.sensitive ? { hint: 'It cannot be read back. Leave it empty to keep it.' } : {})}
        {...field('value')}
      />
      <TextField label="Description" {...field('description')} />
      <SelectField
        label="Category"
        {...field('category')}
        options={[
          { value: 'terraform', label: 'Terraform variable' },
          { value: 'env', label: 'Environment variable' },
        ]}
      />
      {rest.category === 'terraform' ? <CheckField label="HCL" {...check('hcl')} /> : null}
      <CheckField
        label="Sensitive"
        hint="It is never shown again, and cannot be made readable."
        {...check('sensitive')}
      />
    </FormDialog>
  );
}
