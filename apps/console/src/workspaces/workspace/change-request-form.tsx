import type { WorkspacesApi } from '../../api/workspaces';
import { TextField } from '../../design/field';

export interface ChangeRequestText {
  readonly subject: string;
  readonly message: string;
}

/** The form of a change request. */
export const requestChange = (
  api: WorkspacesApi,
  organization_name: string,
  workspaceId: string,
  inputs: ChangeRequestText,
) =>
  api.POST('/api/v2/organizations/{organization_name}/explorer/bulk-actions', {
    params: { path: { organization_name } },
    body: {
      data: {
        type: 'bulk_actions',
        attributes: { action_type: 'change_requests', action_inputs: inputs, target_ids: [workspaceId] },
      },
    },
  });

/** The request's subject and message. */
export function RequestFields({
  value,
  onChange,
}: {
  readonly value: ChangeRequestText;
  readonly onChange: (value: ChangeRequestText) => void;
}) {
  const { subject, message } = value;
  return (
    <>
      <TextField
        label="Subject"
        required
        autoFocus
        value={subject}
        onChange={(next) => onChange({ ...value, subject: next })}
        placeholder="Update the provider"
      />
      <TextField
        label="Message"
        required
        rows={4}
        value={message}
        onChange={(next) => onChange({ ...value, message: next })}
        hint="What to change, and why. It is sent in the notifications of teams that can read the workspace."
      />
    </>
  );
}
