import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { dataOf } from '../../api/transport';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { Facts } from '../../design/facts';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { Lines, PageHead } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { exactly, organizationCrumbs, rule, useChange, useOrganizationName, useRead } from '../api';
import { useAddress } from '../filters';
import { ArchiveField, uploadArchive } from '../parts/archive';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Opener } from '../parts/opener';
import { Readme } from '../parts/readme';
import { RemoveButton } from '../parts/remove-button';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { typedText } from '../parts/typed';
import { type Module, pathOf, useModule } from './module-path';
import { newestOf } from './newest';
import { NoCode, useNoCodeModule } from './no-code';
import { Usages } from './usages';

type Version = Module['attributes']['version-statuses'][number];

/** A version's description, as in the registry protocol. */
interface ModuleDocs {
  readonly root: {
    readonly readme: string;
    readonly inputs: readonly {
      readonly name: string;
      readonly type: string;
      readonly description: string;
      readonly default: string;
      readonly required: boolean;
    }[];
    readonly outputs: readonly { readonly name: string; readonly description: string }[];
    readonly resources: readonly { readonly name: string; readonly type: string }[];
  };
  readonly submodules: readonly { readonly path: string }[];
}

/** The parts of a signed statement that are shown. */
interface Provenance {
  readonly subject: readonly { readonly digest: { readonly sha256: string } }[];
  readonly predicate: {
    readonly buildDefinition: {
      readonly externalParameters: {
        readonly publisher: { readonly type: string; readonly name: string };
        readonly repository?: string;
        readonly ref?: string;
      };
      readonly resolvedDependencies: readonly { readonly digest: { readonly gitCommit: string } }[];
    };
    readonly runDetails: { readonly metadata: { readonly finishedOn: string } };
  };
}

/** One module: its usage, inputs and outputs, versions, and the workspaces that use them. */
export function ModulePage() {
  const org = useOrganizationName();
  const { module: id = '' } = useParams({ strict: false }) as { module?: string };
  const [{ version: requestedVersion }, change] = useAddress<{ version?: string }>();
  const found = useModule(id);
  const module = found.data?.data ?? undefined;
  const offer = useNoCodeModule(module);
  const at = `/organizations/${encodeURIComponent(org)}/registry`;
  const may = module?.attributes.permissions['can-delete'];
  const forbidden = rule(may, 'manage-modules');
  const resync = useChange((api) =>
    api.POST('/api/v2/registry-modules/{registry_module_id}/actions/resync', {
      params: { path: { registry_module_id: id } },
    }),
  );
  const versions = module?.attributes['version-statuses'] ?? [];
  const published = versions.filter(({ status }) => status === 'ok');
  const shown = published.find(({ version }) => version === requestedVersion) ?? newestOf(versions);
  return (
    <div className="stack">
      <PageHead
        title={module?.attributes.name ?? 'Module'}
        crumbs={organizationCrumbs(org, { label: 'Registry', to: at }, { label: module?.attributes.name ?? '…' })}
        state={module === undefined ? undefined : <Badge>{module.attributes.provider}</Badge>}
        actions={
          module === undefined ? undefined : (
            <>
              {module.attributes['vcs-repo'] === undefined ? (
                <Opener label="Publish version" forbidden={forbidden}>
                  {(close) => <PublishVersion module={module} onClose={close} />}
                </Opener>
              ) : (
                <Button busy={resync.isPending} forbidden={forbidden} onClick={() => resync.mutate()}>
                  Check for versions now
                </Button>
              )}
              <Link className="button" to={`${at}/modules/${id}/tests`}>
                Tests
              </Link>
              {offer.data?.data?.attributes.enabled ? (
                <Link className="button primary" to={`${at}/modules/${id}/provision`}>
                  Provision workspace
                </Link>
              ) : null}
            </>
          )
        }
      />
      <Loaded query={found} rows={8}>
        {() =>
          module === undefined ? null : (
            <>
              {shown === undefined ? (
                <Notice>It has no published version yet.</Notice>
              ) : (
                <>
                  <div className="inline-form">
                    <SelectField
                      label="Version"
                      value={shown.version}
                      options={published.map(({ version, deprecation }) => ({
                        value: version,
                        label: deprecation === undefined ? version : `${version} (deprecated)`,
                      }))}
                      onChange={(version) => change({ version })}
                    />
                  </div>
                  {shown.deprecation === undefined ? null : (
                    <Notice tone="amber">
                      {shown.version} is deprecated{shown.deprecation.reason ? `: ${shown.deprecation.reason}` : '.'}
                    </Notice>
                  )}
                  <Lines what="block" text={blockOf(module, shown.version)} />
                  <Origin module={module} version={shown.version} />
                  <Docs module={module} version={shown.version} />
                </>
              )}
              <NoCode org={org} module={module} forbidden={forbidden} />
              <Versions module={module} forbidden={forbidden} />
              <Usages what="module" id={module.id} name={module.attributes.name} />
              <DangerZone
                what="module"
                name={module.attributes.name}
                call={(api) =>
                  api.DELETE(
                    '/api/v2/organizations/{organization_name}/registry-modules/{registry_name}/{namespace}/{module_name}/{module_provider}',
                    { params: { path: pathOf(module) } },
                  )
                }
                to={at}
                forbidden={forbidden}
              >
                All its versions are deleted. Workspaces that use one can no longer download it.
              </DangerZone>
            </>
          )
        }
      </Loaded>
      <SameByApi path={`registry-modules/${id}`} />
    </div>
  );
}

const blockOf = ({ attributes: { namespace, name, provider } }: Module, version: string): string =>
  `module "${name}" {\n  source  = "${location.host}/${namespace}/${name}/${provider}"\n  version = "${version}"\n}`;

/** Who published a version, and the commit, from its provenance. */
function Origin({ module, version }: { readonly module: Module; readonly version: string }) {
  const { namespace, name, provider } = module.attributes;
  const envelope = useRead(['registry-module', module.id, 'provenance', version], (_, transport) =>
    exactly<{ readonly payload: string }>(
      transport,
      `/api/registry/v1/modules/${namespace}/${name}/${provider}/${version}/provenance`,
    ),
  );
  // Versions that were published before provenance statements existed have none.
  if (envelope.data === undefined) return null;
  const bytes = Uint8Array.from(atob(envelope.data.payload), (letter) => letter.charCodeAt(0));
  const { subject, predicate } = JSON.parse(new TextDecoder().decode(bytes)) as Provenance;
  const { externalParameters: of, resolvedDependencies } = predicate.buildDefinition;
  const [source] = resolvedDependencies;
  return (
    <Facts
      rows={[
        [
          'Published',
          <span key="published">
            <Time at={predicate.runDetails.metadata.finishedOn} />{' '}
            {of.publisher.type === 'system' ? `because of ${of.ref}` : `by ${of.publisher.name}`}
            {source === undefined ? null : (
              <>
                {' '}
                from commit <code>{source.digest.gitCommit.slice(0, 12)}</code> of {of.repository}
              </>
            )}
          </span>,
        ],
        ['SHA-256', <Copied key="digest" text={subject[0]?.digest.sha256 ?? ''} what="SHA-256 of the archive" />],
        [
          'Signed: verify with',
          <Copied
            key="verify"
            text={`keystead registry verify ${namespace}/${name}/${provider} ${version}`}
            what="command"
          />,
        ],
      ]}
    />
  );
}

function Docs({ module, version }: { readonly module: Module; readonly version: string }) {
  const { namespace, name, provider } = module.attributes;
  const docs = useRead(['registry-module', module.id, 'docs', version], (_, transport) =>
    exactly<ModuleDocs>(transport, `/api/registry/v1/modules/${namespace}/${name}/${provider}/${version}`),
  );
  return (
    <Loaded query={docs} rows={6}>
      {({ root, submodules }) => (
        <>
          <Readme text={root.readme} />
          <section className="stack-tight" aria-labelledby="inputs">
            <h2 id="inputs">Inputs</h2>
            {root.inputs.length === 0 ? <p className="second">None.</p> : null}
            {root.inputs.length === 0 ? null : (
              <Table
                label="Inputs"
                rows={root.inputs}
                keyOf={(one) => one.name}
                narrow="stacked"
                columns={[
                  {
                    head: 'Name',
                    cell: ({ name, required }) => (
                      <span className="row">
                        <code>{name}</code>
                        {required ? <Badge tone="amber">required</Badge> : null}
                      </span>
                    ),
                  },
                  { head: 'Type', cell: ({ type }) => <code>{type}</code> },
                  {
                    head: 'Default',
                    cell: (one) => (one.required ? '' : <code className="clipped">{one.default}</code>),
                  },
                  { head: 'Description', cell: ({ description }) => description },
                ]}
              />
            )}
          </section>
          <section className="stack-tight" aria-labelledby="outputs">
            <h2 id="outputs">Outputs</h2>
            {root.outputs.length === 0 ? <p className="second">None.</p> : null}
            {root.outputs.length === 0 ? null : (
              <Table
                label="Outputs"
                rows={root.outputs}
                keyOf={(one) => one.name}
                columns={[
                  { head: 'Name', cell: ({ name }) => <code>{name}</code> },
                  { head: 'Description', cell: ({ description }) => description },
                ]}
              />
            )}
          </section>
          <p className="second">
            {root.resources.length} {root.resources.length === 1 ? 'resource' : 'resources'}
            {submodules.length === 0 ? '' : `, submodules: ${submodules.map(({ path }) => path).join(', ')}`}
          </p>
        </>
      )}
    </Loaded>
  );
}

function Versions({ module, forbidden }: { readonly module: Module; readonly forbidden: string | undefined }) {
  return (
    <section className="stack-tight" aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      {module.attributes['version-statuses'].length === 0 ? (
        <p className="second">None yet.</p>
      ) : (
        <Table
          label="Versions"
          rows={module.attributes['version-statuses']}
          keyOf={({ version }) => version}
          narrow="stacked"
          columns={[
            { head: 'Version', cell: ({ version }) => version },
            {
              head: 'Status',
              cell: ({ status, deprecation, error }) => (
                <span className="row">
                  <Status status={deprecation === undefined ? status : 'deprecated'} />
                  {error ?? deprecation?.reason}
                </span>
              ),
            },
            {
              head: '',
              className: 'tight',
              cell: (version) => (
                <span className="row">
                  {version.status === 'ok' ? (
                    <Opener
                      label={`${version.deprecation === undefined ? 'Deprecate' : 'Restore'} ${version.version}`}
                      text={version.deprecation === undefined ? 'Deprecate' : 'Restore'}
                      small
                      forbidden={forbidden}
                    >
                      {(close) => <Deprecate module={module} version={version} onClose={close} />}
                    </Opener>
                  ) : null}
                  <RemoveButton
                    label={`Delete ${version.version}`}
                    text="Delete"
                    title={`Delete version ${version.version}?`}
                    call={(api) =>
                      api.DELETE(
                        '/api/v2/organizations/{organization_name}/registry-modules/{registry_name}/{namespace}/{module_name}/{module_provider}/{module_version}',
                        { params: { path: { ...pathOf(module), module_version: version.version } } },
                      )
                    }
                    forbidden={forbidden}
                  />
                </span>
              ),
            },
          ]}
        />
      )}
    </section>
  );
}

function Deprecate({
  module,
  version: { version, deprecation },
  onClose,
}: {
  readonly module: Module;
  readonly version: Version;
  readonly onClose: () => void;
}) {
  const isDeprecated = deprecation !== undefined;
  const draft = useDraft({ reason: '' });
  const save = useChange(
    (api) =>
      api.PATCH(
        '/api/v2/organizations/{organization_name}/registry-modules/{registry_name}/{namespace}/{module_name}/{module_provider}/{module_version}',
        {
          params: { path: { ...pathOf(module), module_version: version } },
          body: {
            data: {
              type: 'module-versions',
              attributes: {
                deprecation: isDeprecated
                  ? { 'deprecated-status': 'Undeprecated' }
                  : { 'deprecated-status': 'Deprecated', reason: typedText(draft.value.reason) },
              },
            },
          },
        },
      ),
    onClose,
  );
  const { field } = fieldsOf(draft, save.error);
  return (
    <FormDialog
      title={isDeprecated ? `Restore ${version}?` : `Deprecate ${version}?`}
      action={isDeprecated ? 'Restore version' : 'Deprecate version'}
      change={save}
      onBack={onClose}
      onSend={() => save.mutate()}
    >
      {isDeprecated ? (
        <p>The tools stop warning about it.</p>
      ) : (
        <TextField
          label="Reason"
          autoFocus
          hint="The tools show it to people who use the version."
          {...field('reason')}
        />
      )}
    </FormDialog>
  );
}

/** Creates a version, and uploads its archive to the link from the service. */
function PublishVersion({ module, onClose }: { readonly module: Module; readonly onClose: () => void }) {
  const { transport } = useSession();
  const draft = useDraft({ version: '' });
  const [archive, setArchive] = useState<File>();
  const { organization_name, module_name, module_provider } = pathOf(module);
  const publish = useChange(async (api) => {
    const created = await dataOf(
      api.POST('/api/v2/registry-modules/{organization_name}/{module_name}/{module_provider}/versions', {
        params: { path: { organization_name, module_name, module_provider } },
        body: { data: { type: 'registry-module-versions', attributes: draft.value } },
      }),
    );
    const response = await uploadArchive(transport, created.data?.links?.upload ?? '', archive);
    return { data: undefined, response };
  }, onClose);
  const { field: textField } = fieldsOf(draft, publish.error);
  return (
    <FormDialog
      title="Publish version"
      action="Publish version"
      change={publish}
      forbidden={archive === undefined ? 'Choose an archive first.' : undefined}
      onBack={onClose}
      onSend={() => publish.mutate()}
    >
      <TextField label="Version" required autoFocus placeholder="1.0.0" {...textField('version')} />
      <ArchiveField onChange={setArchive} />
    </FormDialog>
  );
}
