import { useNavigate } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { rule, useChange, useOrganization } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { fieldsOf, useDraft } from '../parts/draft';
import { Creator } from '../parts/opener';
import type { Workspace } from './use-workspace';

type Mode = Workspace['attributes']['execution-mode'];

interface NewWorkspaceProps {
  readonly org: string;
  /** The project that it is created in; otherwise it can be chosen. */
  readonly within?: Resource<'ProjectsResource'>;
}

/** Creates a workspace. */
export function NewWorkspace({ org, within }: NewWorkspaceProps) {
  const organization = useOrganization().data?.data;
  const { permissions } = within?.attributes ?? organization?.attributes ?? {};
  return (
    <Creator label="Create workspace" forbidden={rule(permissions?.['can-create-workspace'], 'can-create-workspace')}>
      {(close) => <Create org={org} {...(within ? { within } : {})} onClose={close} />}
    </Creator>
  );
}

function Create({ org, within, onClose }: NewWorkspaceProps & { readonly onClose: () => void }) {
  const draft = useDraft({ name: '', description: '', project: within?.id ?? '', mode: '' as Mode | '' });
  const { name, description, project, mode } = draft.value;
  const navigate = useNavigate();
  const usual = useOrganization().data?.data?.relationships['default-project'].data?.id;
  const attributes = {
    name,
    ...(description === '' ? {} : { description }),
    ...(mode === '' ? {} : { 'execution-mode': mode }),
  };
  const relationships = project === '' ? {} : { project: { data: { type: 'projects' as const, id: project } } };
  const make = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/workspaces', {
        params: { path: { organization_name: org } },
        body: { data: { type: 'workspaces', attributes, relationships } },
      }),
    () => {
      onClose();
      void navigate({ to: `/organizations/${org}/workspaces/${name}` });
    },
  );
  const { field } = fieldsOf(draft, make.error);
  return (
    <FormDialog
      title={within === undefined ? 'Create workspace' : `Create workspace in ${within.attributes.name}`}
      action="Create workspace"
      change={make}
      onBack={onClose}
      onSend={() => make.mutate()}
    >
      <TextField label="Name" required autoFocus hint="Letters, numbers, dashes and underscores." {...field('name')} />
      <TextField label="Description" {...field('description')} />
      {within === undefined ? (
        <ChoiceField
          label="Project"
          kind="projects"
          organization={org}
          value={project}
          onChange={draft.set('project')}
          none="The default project"
          leaveOut={({ id }) => id === usual}
        />
      ) : null}
      <SelectField
        label="Execution mode"
        {...field('mode')}
        options={[
          { value: '', label: 'Project default' },
          { value: 'remote', label: 'Remote' },
          { value: 'local', label: 'Local' },
        ]}
      />
    </FormDialog>
  );
}
