import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { TextField } from '../../design/field';
import { Form, SettingsForm } from '../../design/form';
import { Notice } from '../../design/notice';
import { useChange } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';

/** Name and email address of the person's account. */
export function Profile({ user }: { readonly user: Resource<'UsersResource'> }) {
  const { attributes } = user;
  const draft = useDraft({ username: attributes.username, email: attributes.email ?? '' });
  const save = useChange(
    (api) => api.PATCH('/api/v2/account/update', { body: { data: { type: 'users', attributes: draft.changes } } }),
    draft.reset,
  );
  const { field } = fieldsOf(draft, save.error);
  const may = attributes.permissions;
  const forbidden =
    may['can-change-username'] || may['can-change-email'] ? undefined : 'This account belongs to a machine.';
  return (
    <SettingsForm
      title="Profile"
      action="Save profile"
      draft={draft}
      change={save}
      forbidden={forbidden}
      onSend={() => save.mutate()}
    >
      <dl className="facts">
        <dt>ID</dt>
        <dd>
          <Copied text={user.id} what="user id" />
        </dd>
      </dl>
      <TextField label="Username" required autoComplete="username" {...field('username')} />
      <TextField label="Email address" required type="email" {...field('email')} />
    </SettingsForm>
  );
}

const none = { current_password: '', password: '', password_confirmation: '' };

/** Sets a new password, which ends every other session of the account. */
export function Password() {
  const draft = useDraft(none);
  const change = useChange(
    (api, attributes: typeof none) =>
      api.PATCH('/api/v2/account/password', { body: { data: { type: 'users', attributes } } }),
    draft.reset,
  );
  const { field } = fieldsOf(draft, change.error);
  const secret = (name: keyof typeof none, label: string) => (
    <TextField
      label={label}
      type="password"
      required
      autoComplete={name === 'current_password' ? 'current-password' : 'new-password'}
      {...field(name)}
    />
  );
  return (
    <Form title="Password" action="Change password" change={change} onSend={() => change.mutate(draft.value)}>
      {secret('current_password', 'Current password')}
      {secret('password', 'New password')}
      {secret('password_confirmation', 'New password again')}
      {change.isSuccess ? <Notice tone="green">Changed. All other sessions have ended.</Notice> : null}
    </Form>
  );
}
