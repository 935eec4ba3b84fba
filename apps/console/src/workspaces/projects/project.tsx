import { Link, useParams } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { CheckField, SelectField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganizationName, useRead } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { SameByApi } from '../parts/same-by-api';
import { NewWorkspace } from '../workspace/new-workspace';
import { ProjectAccess } from './project-access';
import { ProjectWorkspaces } from './project-workspaces';

/** One project: its workspaces, its settings, and the teams with access. */
export function Project() {
  const organization = useOrganizationName();
  const { project: id = '' } = useParams({ strict: false }) as { project?: string };
  const project = useRead(['project', id], (api) =>
    api.GET('/api/v2/projects/{project_id}', { params: { path: { project_id: id } } }),
  );
  const found = project.data?.data;
  return (
    <div className="stack">
      <PageHead
        title={found?.attributes.name ?? 'Project'}
        crumbs={organizationCrumbs(
          organization,
          { label: 'Projects', to: `/organizations/${encodeURIComponent(organization)}/projects` },
          { label: found?.attributes.name ?? '…' },
        )}
        actions={found ? <NewWorkspace org={organization} within={found} /> : undefined}
      />
      <Loaded query={project} rows={8}>
        {({ data }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.id} what="project id" />
                </dd>
                <dt>Created</dt>
                <dd>
                  <Time at={data.attributes['created-at']} />
                </dd>
              </dl>
              <ProjectWorkspaces project={data} organization={organization} />
              <ProjectAccess project={data} organization={organization} />
              <section className="stack-tight" aria-labelledby="notifications">
                <h2 id="notifications">Notifications</h2>
                <p>
                  <Link to={`/organizations/${encodeURIComponent(organization)}/projects/${data.id}/notifications`}>
                    Notifications about the runs of its workspaces
                  </Link>
                </p>
              </section>
              <General key={data.id} project={data} />
              <Removal project={data} organization={organization} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`projects/${id}`} />
    </div>
  );
}

type ProjectResource = Resource<'ProjectsResource'>;

function General({ project }: { readonly project: ProjectResource }) {
  const { attributes } = project;
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? '',
    'own-mode': attributes['setting-overwrites']['default-execution-mode'],
    'default-execution-mode': attributes['default-execution-mode'],
    'default-agent-pool-id': project.relationships['default-agent-pool'].data?.id ?? '',
    'force-delete': String(attributes['allow-force-delete-workspaces'] ?? ''),
    'secrets-role': attributes['secrets-role'] ?? '',
    'secrets-namespace': attributes['secrets-namespace'] ?? '',
  });
  const save = useChange((api) => {
    const { 'own-mode': own, 'default-execution-mode': mode, 'default-agent-pool-id': pool, ...others } = draft.changes;
    const { 'force-delete': deletes, ...rest } = others;
    const { value } = draft;
    const overwrites = { 'default-execution-mode': value['own-mode'] };
    const modes = value['own-mode'] ? { 'default-execution-mode': value['default-execution-mode'] } : {};
    const pools = value['default-execution-mode'] === 'agent' ? { 'default-agent-pool-id': pool || null } : {};
    const isModeChanged = own !== undefined || mode !== undefined || pool !== undefined;
    const texts = Object.fromEntries(
      Object.entries(rest).map(([name, text]) => [name, name === 'name' ? text : text || null]),
    );
    const deletion =
      deletes === undefined ? {} : { 'allow-force-delete-workspaces': deletes === '' ? null : deletes === 'true' };
    const changes = {
      ...texts,
      ...deletion,
      ...(isModeChanged ? { ...modes, ...pools, 'setting-overwrites': overwrites } : {}),
    };
    return api.PATCH('/api/v2/projects/{project_id}', {
      params: { path: { project_id: project.id } },
      body: { data: { type: 'projects', attributes: changes } },
    });
  }, draft.reset);
  const forbidden = rule(attributes.permissions['can-update'], 'can-update', 'an administrator of the project');
  const { value } = draft;
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <SettingsForm title="Settings" draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
      <TextField label="Name" required {...field('name')} />
      <TextField label="Description" {...field('description')} />
      <CheckField
        label="Override the execution mode"
        {...check('own-mode')}
        hint={`Otherwise the default of the organization: ${attributes['default-execution-mode']}.`}
      />
      {value['own-mode'] ? (
        <SelectField
          label="Execution mode"
          {...field('default-execution-mode')}
          options={['remote', 'agent', 'local']}
        />
      ) : null}
      {value['own-mode'] && value['default-execution-mode'] === 'agent' ? (
        <TextField label="Agent pool" placeholder="apool-…" {...field('default-agent-pool-id')} />
      ) : null}
      <SelectField
        label="Workspaces that manage resources may be deleted"
        {...field('force-delete')}
        options={[
          { value: '', label: 'The default of the organization' },
          { value: 'true', label: 'By administrators of a workspace' },
          { value: 'false', label: 'By owners only' },
        ]}
        hint="Only owners of the organization may change this."
      />
      <TextField
        label="Role in the secrets service"
        {...field('secrets-role')}
        hint="Runs log in with their identity token and this role."
      />
      <TextField label="Namespace in the secrets service" {...field('secrets-namespace')} />
    </SettingsForm>
  );
}

function Removal({ project, organization }: { readonly project: ProjectResource; readonly organization: string }) {
  const { name, permissions, 'workspace-count': workspaces } = project.attributes;
  const obstacle = workspaces > 0 ? `It still has ${workspaces} workspaces: move or delete them first.` : undefined;
  return (
    <DangerZone
      what="project"
      name={name}
      call={(api) => api.DELETE('/api/v2/projects/{project_id}', { params: { path: { project_id: project.id } } })}
      to={`/organizations/${encodeURIComponent(organization)}/projects`}
      forbidden={rule(permissions['can-destroy'], 'can-destroy') ?? obstacle}
    >
      Only an empty project can be deleted, and never the default project.
    </DangerZone>
  );
}
