import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Notice } from '../../design/notice';
import { PageHead, Skeleton } from '../../design/page';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName, useRead } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { SameByApi } from '../parts/same-by-api';
import { newestOf } from './newest';
import { useNoCodeInputs, useNoCodeModule } from './no-code';

type ModuleVariable = Resource<'RegistryModuleVariablesResource'>;

/** Creates a no-code workspace from a module. */
export function Provision() {
  const org = useOrganizationName();
  const { module: id = '' } = useParams({ strict: false }) as { module?: string };
  const found = useRead(['registry-module', id], (api) =>
    api.GET('/api/v2/registry-modules/{registry_module_id}', { params: { path: { registry_module_id: id } } }),
  );
  const module = found.data?.data ?? undefined;
  const noCodeModule = useNoCodeModule(module);
  const offer = noCodeModule.data?.data ?? undefined;
  const version =
    offer?.attributes['version-pin'] ?? newestOf(module?.attributes['version-statuses'] ?? [])?.version ?? '';
  const variables = useNoCodeInputs(offer?.id, version);
  const at = `/organizations/${encodeURIComponent(org)}/registry`;
  const name = module?.attributes.name ?? '…';
  return (
    <div className="stack">
      <PageHead
        title="Provision workspace"
        crumbs={organizationCrumbs(
          org,
          { label: 'Registry', to: at },
          { label: name, to: `${at}/modules/${id}` },
          { label: 'Provision workspace' },
        )}
      >
        <p className="second">
          Creates a workspace whose configuration calls {name} {version}, and starts a run.
        </p>
      </PageHead>
      <Loaded query={found} rows={6}>
        {() =>
          noCodeModule.isLoading ? (
            <Skeleton rows={6} />
          ) : offer === undefined || !offer.attributes.enabled || version === '' ? (
            <Notice>
              {version === ''
                ? 'The module has no published version yet.'
                : 'No-code provisioning of this module is disabled.'}
            </Notice>
          ) : (
            <Loaded query={variables} rows={6}>
              {({ data }) => <ProvisionForm org={org} offer={offer.id} variables={data} />}
            </Loaded>
          )
        }
      </Loaded>
      <SameByApi path={`no-code-modules/${offer?.id ?? 'ID'}/workspaces`} />
    </div>
  );
}

function ProvisionForm({
  org,
  offer,
  variables,
}: {
  readonly org: string;
  readonly offer: string;
  readonly variables: readonly ModuleVariable[];
}) {
  const navigate = useNavigate();
  const may = useOrganization().data?.data?.attributes.permissions['can-create-workspace'];
  const draft = useDraft({ name: '', description: '', project: '', 'auto-apply': false });
  const { name, description, project } = draft.value;
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const create = useChange(
    (api) =>
      api.POST('/api/v2/no-code-modules/{no_code_module_id}/workspaces', {
        params: { path: { no_code_module_id: offer } },
        body: {
          data: {
            type: 'no-code-module-workspace',
            attributes: {
              name,
              'auto-apply': draft.value['auto-apply'],
              ...(description === '' ? {} : { description }),
            },
            relationships: {
              ...(project === '' ? {} : { project: { data: { type: 'projects' as const, id: project } } }),
              vars: {
                data: variables.flatMap(({ attributes: { name: key, type, sensitive } }) => {
                  const value = values.get(key) ?? '';
                  const hcl = /^(list|set|map|object|tuple|any)\b/.test(type);
                  const attributes = { key, value, category: 'terraform', hcl, sensitive };
                  return value === '' ? [] : [{ type: 'vars' as const, attributes: attributes as object }];
                }),
              },
            },
          },
        },
      }),
    ({ data }) =>
      void navigate({
        to: `/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(data?.attributes.name ?? name)}`,
      }),
  );
  const { field, check } = fieldsOf(draft, create.error);
  const sorted = variables.toSorted(
    (one, other) => Number(other.attributes.required) - Number(one.attributes.required),
  );
  return (
    <Form
      action="Create workspace"
      change={create}
      forbidden={rule(may, 'can-create-workspace')}
      onSend={() => create.mutate()}
    >
      <TextField label="Workspace name" required autoFocus {...field('name')} />
      <ChoiceField
        label="Project"
        kind="projects"
        organization={org}
        value={project}
        onChange={draft.set('project')}
        none="Default project"
      />
      <TextField label="Description" {...field('description')} />
      {sorted.length === 0 ? null : <h2>Variables</h2>}
      {sorted.map((variable) => (
        <VariableField
          key={variable.id}
          variable={variable}
          value={values.get(variable.attributes.name) ?? ''}
          onChange={(value) => setValues(new Map(values).set(variable.attributes.name, value))}
        />
      ))}
      <CheckField label="Auto apply" {...check('auto-apply')} hint="Apply a successful plan without confirmation." />
    </Form>
  );
}

/** One input of the module: chosen from a list, or typed. */
function VariableField({
  variable: {
    attributes: { name, type, description, required, sensitive, options, 'has-global': hasGlobal },
  },
  value,
  onChange,
}: {
  readonly variable: ModuleVariable;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const isNeeded = required && !hasGlobal;
  const hint = [
    description,
    type === '' || type === 'string' ? '' : type,
    hasGlobal ? 'A variable set provides a value.' : '',
  ]
    .filter(Boolean)
    .join(' · ');
  if (options.length > 0) {
    return (
      <SelectField
        label={name}
        value={value}
        onChange={onChange}
        required={isNeeded}
        options={[{ value: '', label: isNeeded ? 'Choose a value' : 'Default' }, ...options]}
        hint={hint}
      />
    );
  }
  return (
    <TextField
      label={name}
      value={value}
      onChange={onChange}
      required={isNeeded}
      masked={sensitive}
      placeholder={isNeeded ? '' : 'default'}
      hint={hint}
    />
  );
}
