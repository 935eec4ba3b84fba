import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';

import { useChange, useRead } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';
import { Opener } from '../parts/opener';
import { newestOf } from './newest';

type RegistryModule = Resource<'RegistryModulesResource'>;

/** The no-code settings of a module, with the values to choose from. */
export function useNoCodeModule(module: RegistryModule | undefined) {
  const id = module?.relationships['no-code-modules'].data[0]?.id;
  return useRead(
    ['no-code', id],
    (api) =>
      api.GET('/api/v2/no-code-modules/{no_code_module_id}', {
        params: { path: { no_code_module_id: id ?? '' }, query: { include: 'variable-options' } },
      }),
    { enabled: id !== undefined },
  );
}

/** The inputs of the version that new workspaces get. */
export function useNoCodeInputs(offer: string | undefined, version: string) {
  return useRead(
    ['no-code', offer, 'inputs', version],
    (api) =>
      api.GET('/api/v2/no-code-modules/{no_code_module_id}/versions/{module_version}/module-variables', {
        params: { path: { no_code_module_id: offer ?? '', module_version: version } },
      }),
    { enabled: offer !== undefined && version !== '' },
  );
}

interface NoCodeProps {
  readonly org: string;
  readonly module: RegistryModule;
}

/** Enables no-code provisioning of a module, and limits the values to choose from. */
export function NoCode({ forbidden, ...props }: NoCodeProps & { readonly forbidden: string | undefined }) {
  const offer = useNoCodeModule(props.module);
  const attributes = offer.data?.data?.attributes;
  const isOn = attributes?.enabled === true;
  const isKnown = offer.data !== undefined || !offer.isLoading;
  return (
    <section className="stack-tight" aria-labelledby="no-code">
      <div className="panel-head">
        <h2 id="no-code">No-code provisioning</h2>
        <Opener
          label={attributes === undefined ? 'Enable no-code provisioning' : 'Edit no-code settings'}
          small
          forbidden={isKnown ? forbidden : 'Not known yet.'}
        >
          {(close) => <Settings {...props} offer={offer.data} onClose={close} />}
        </Opener>
      </div>
      <ErrorNotice error={offer.error} />
      <p className="row">
        <Badge tone={isOn ? 'green' : 'plain'}>{isOn ? 'enabled' : 'disabled'}</Badge>
        <span className="second">
          {isOn
            ? `People create workspaces from ${attributes['version-pin'] ?? 'the newest version'} with a form.`
            : 'When it is enabled, people create workspaces from this module with a form, without writing configuration.'}
        </span>
      </p>
    </section>
  );
}

function Settings({
  org,
  module,
  offer: loaded,
  onClose,
}: NoCodeProps & { readonly offer: ReturnType<typeof useNoCodeModule>['data']; readonly onClose: () => void }) {
  const offer = loaded?.data ?? undefined;
  const versions = module.attributes['version-statuses'].filter(({ status }) => status === 'ok');
  const versionPin = offer?.attributes['version-pin'] ?? '';
  const draft = useDraft({ enabled: offer?.attributes.enabled ?? true, 'version-pin': versionPin });
  const [options, setOptions] = useState<ReadonlyMap<string, string>>(
    new Map(
      loaded?.included?.map(({ attributes }) => [attributes['variable-name'], attributes.options.join(', ')] as const),
    ),
  );
  const version = draft.value['version-pin'] || (newestOf(module.attributes['version-statuses'])?.version ?? '');
  const variables = useNoCodeInputs(offer?.id, version);
  const save = useChange((api) => {
    const inputs = variables.data?.data ?? [];
    const variableOptions = [...options].flatMap(([name, text]) => {
      const values = text
        .split(',')
        .map((value) => value.trim())
        .filter(Boolean);
      const type = inputs.find(({ attributes }) => attributes.name === name)?.attributes.type || 'string';
      const attributes = { 'variable-name': name, 'variable-type': type, options: values };
      return values.length === 0 ? [] : [{ type: 'variable-options' as const, attributes }];
    });
    const data = {
      type: 'no-code-modules' as const,
      attributes: { enabled: draft.value.enabled, 'version-pin': draft.value['version-pin'] || null },
      relationships: {
        'registry-module': { data: { type: 'registry-modules' as const, id: module.id } },
        'variable-options': { data: variableOptions },
      },
    };
    return offer === undefined
      ? api.POST('/api/v2/organizations/{organization_name}/no-code-modules', {
          params: { path: { organization_name: org } },
          body: { data },
        })
      : api.PATCH('/api/v2/no-code-modules/{no_code_module_id}', {
          params: { path: { no_code_module_id: offer.id } },
          body: { data },
        });
  }, onClose);
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <FormDialog
      title="No-code provisioning"
      action={offer === undefined ? 'Enable' : 'Save changes'}
      change={save}
      onBack={onClose}
      onSend={() => save.mutate()}
    >
      {offer === undefined ? null : <CheckField label="Enabled" {...check('enabled')} />}
      <SelectField
        label="Version"
        {...field('version-pin')}
        options={[{ value: '', label: 'Newest version' }, ...versions.map((one) => one.version)]}
        hint="The version for new workspaces and upgrades."
      />
      {(variables.data?.data ?? []).map(({ id, attributes: { name, description } }) => (
        <TextField
          key={id}
          label={`Values of ${name}`}
          value={options.get(name) ?? ''}
          onChange={(text) => setOptions(new Map(options).set(name, text))}
          placeholder="any"
          hint={description || 'Comma-separated. If empty, any value is allowed.'}
        />
      ))}
    </FormDialog>
  );
}
