import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { SelectField, TextField } from '../../design/field';
import { document } from '../data/documents';
import { useMany, useOne, useSend } from '../data/use-api';
import { FormDialog, faultOf, Opener } from '../parts/form';
import { mayIn, type OrganizationAttributes } from './use-organization';
import { organizationPath } from './use-workspace';

/** Makes a workspace. */
export function NewWorkspace({ org }: { readonly org: string }) {
  const { data } = useOne<OrganizationAttributes>(organizationPath(org));
  return (
    <Opener label="New workspace" kind="primary" forbidden={mayIn(data?.data, 'can-create-workspace')}>
      {(close) => <Create org={org} onClose={close} />}
    </Opener>
  );
}

function Create({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [project, setProject] = useState('');
  const [mode, setMode] = useState('');
  const projects = useMany<{ name: string }>(`${organizationPath(org)}/projects?page[size]=100`);
  const navigate = useNavigate();
  const make = useSend(
    () => ({
      method: 'POST',
      path: `${organizationPath(org)}/workspaces`,
      body: document(
        'workspaces',
        { name, description: description || undefined, 'execution-mode': mode || undefined },
        project === '' ? {} : { project: { type: 'projects', id: project } },
      ),
    }),
    () => {
      onClose();
      void navigate({ to: `/organizations/${org}/workspaces/${name}` });
    },
  );
  return (
    <FormDialog
      title="New workspace"
      action="Create workspace"
      busy={make.busy}
      error={make.error}
      onClose={onClose}
      onSubmit={() => make.run()}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        autoFocus
        error={faultOf(make.error, 'name')}
        hint="Letters, numbers, dashes and underscores."
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      <SelectField
        label="Project"
        value={project}
        onChange={setProject}
        options={[
          { value: '', label: 'The default project' },
          ...(projects.data?.data ?? []).map((one) => ({ value: one.id, label: one.attributes.name })),
        ]}
      />
      <SelectField
        label="Runs take place"
        value={mode}
        onChange={setMode}
        options={[
          { value: '', label: 'as the project says' },
          { value: 'remote', label: 'here, on a worker' },
          { value: 'local', label: 'on the machines of its users' },
        ]}
      />
    </FormDialog>
  );
}
