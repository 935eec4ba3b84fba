import { Link } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Empty, SameBy } from '../../design/page';
import { rule, useRead } from '../api';
import { Creator, Opener } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { WorkspaceHead } from './head';
import { Identities } from './identities';
import { useWorkspace } from './use-workspace';
import { VariableDialog, type VariableHome, variablesOfWorkspace } from './variable-dialog';

type Effective = Resource<'EffectiveVariablesResource'>;
type EffectiveSource = Pick<Effective['attributes'], 'origin' | 'priority' | 'varset-id' | 'varset-name'>;

const origins: Readonly<Record<EffectiveSource['origin'], string>> = {
  workspace: 'this workspace',
  'workspace-varset': 'a set of this workspace',
  'project-varset': 'a set of its project',
  'global-varset': 'a global set',
};

/** The variables that runs of a workspace get: where each value comes from, and which other values it overrides. */
export function Variables() {
  const { org, ws, workspace } = useWorkspace();
  const permissions = workspace?.attributes.permissions;
  const mayRead = permissions?.['can-read-variable'] === true;
  const id = workspace?.id ?? '';
  const home = variablesOfWorkspace(id);
  const effective = useRead(
    ['effective-variables', id],
    (api) =>
      api.GET('/api/v2/workspaces/{workspace_id}/effective-variables', { params: { path: { workspace_id: id } } }),
    { enabled: mayRead },
  );
  const forbidden = rule(permissions?.['can-update-variable'], 'can-update-variable');
  const create = (
    <Creator label="Create variable" forbidden={forbidden}>
      {(close) => <VariableDialog home={home} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <WorkspaceHead />
      <div className="row spread">
        <h2>Variables</h2>
        {create}
      </div>
      {workspace !== undefined && !mayRead ? (
        <p className="second">Reading variables needs can-read-variable.</p>
      ) : (
        <ResourceTable
          label="Variables"
          query={effective}
          empty={
            <Empty action={create} command={`keystead var set -organization=${org} -workspace=${ws} region=eu-1`}>
              Runs of this workspace get no variables. Add one here, or in a variable set.
            </Empty>
          }
          columns={[
            {
              head: 'Key',
              cell: ({ attributes: { key, category, description, hcl } }) => (
                <div className="stack-none">
                  <span className="row">
                    <code>{key}</code>
                    {category === 'env' ? <Badge>env</Badge> : null}
                    {hcl ? <Badge>HCL</Badge> : null}
                  </span>
                  {description ? <span className="second small">{description}</span> : null}
                </div>
              ),
            },
            {
              head: 'Value',
              cell: ({ attributes: { value, sensitive } }) =>
                sensitive ? (
                  <Badge tone="violet">sensitive</Badge>
                ) : (
                  <code className="clipped">{value === '' ? '""' : value}</code>
                ),
            },
            {
              head: 'From',
              cell: ({ attributes }) => <Origin org={org} source={attributes} hides={attributes.hides} />,
            },
            {
              head: '',
              className: 'tight',
              cell: (one) =>
                one.attributes.origin === 'workspace' ? <Own one={one} home={home} forbidden={forbidden} /> : null,
            },
          ]}
        />
      )}
      {mayRead ? <Identities id={id} /> : null}
      <SameBy api={`GET /api/v2/workspaces/${workspace?.id ?? ws}/effective-variables`} />
    </div>
  );
}

function Own({
  one,
  home,
  forbidden,
}: {
  readonly one: Effective;
  readonly home: VariableHome;
  readonly forbidden: string | undefined;
}) {
  return (
    <span className="row">
      <Opener label="Change" small forbidden={forbidden}>
        {(close) => <VariableDialog home={home} variable={one} onClose={close} />}
      </Opener>
      <RemoveButton
        label="Delete"
        title={`Delete ${one.attributes.key}?`}
        call={(api) => home.remove(api, one.relationships.variable.data?.id ?? one.id)}
        forbidden={forbidden}
      />
    </span>
  );
}

function Origin({
  org,
  source,
  hides,
}: {
  readonly org: string;
  readonly source: EffectiveSource;
  readonly hides: readonly EffectiveSource[];
}) {
  return (
    <div className="stack-none">
      <span>
        <Where org={org} source={source} />
        {source.priority ? (
          <>
            {' '}
            <Badge tone="amber">priority</Badge>
          </>
        ) : null}
      </span>
      {hides.map((one) => (
        <span key={`${one.origin} ${one['varset-id']}`} className="second small">
          hides that of <Where org={org} source={one} />
        </span>
      ))}
    </div>
  );
}

function Where({ org, source }: { readonly org: string; readonly source: EffectiveSource }) {
  const { origin, 'varset-id': id, 'varset-name': name } = source;
  if (id === null) return <>{origins[origin]}</>;
  return (
    <>
      <Link to={`/organizations/${org}/varsets/${id}`}>{name}</Link>, {origins[origin]}
    </>
  );
}
