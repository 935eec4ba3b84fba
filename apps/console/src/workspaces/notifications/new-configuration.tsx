import { useNavigate } from '@tanstack/react-router';
import { Form } from '../../design/form';
import { useChange } from '../api';
import { useDraft } from '../parts/draft';
import { ConfigurationFields, newConfiguration, sentConfiguration } from './configuration-fields';
import type { Subject } from './list';

/** The form that creates a notification. */
export function NewConfiguration({ subject: { type, id }, to }: { readonly subject: Subject; readonly to: string }) {
  const navigate = useNavigate();
  const draft = useDraft(newConfiguration);
  const { value } = draft;
  const add = useChange(
    (api) => {
      const attributes = {
        ...sentConfiguration(value),
        name: value.name,
        'destination-type': value['destination-type'],
        ...(value['destination-type'] === 'email' ? { url: null } : { 'email-addresses': [] }),
      };
      const body = { data: { type: 'notification-configurations' as const, attributes } };
      return type === 'workspaces'
        ? api.POST('/api/v2/workspaces/{workspace_id}/notification-configurations', {
            params: { path: { workspace_id: id } },
            body,
          })
        : api.POST('/api/v2/projects/{project_id}/notification-configurations', {
            params: { path: { project_id: id } },
            body,
          });
    },
    ({ data }) => void navigate({ to: `${to}/${data?.id}` }),
  );
  return (
    <Form action="Create notification" change={add} onSend={() => add.mutate()} onBack={() => void navigate({ to })}>
      <ConfigurationFields draft={draft} error={add.error} stored={false} />
    </Form>
  );
}
