import { useNavigate } from '@tanstack/react-router';
import { Copied } from '../../../design/copy';
import { Form } from '../../../design/form';
import { useChange } from '../../api';
import { useDraft } from '../../parts/draft';
import { AdminPage } from '../frame';
import { newProvider, ProviderFields, sentProvider } from './provider-form';

const list = '/admin/sign-in';

/** The page that adds a sign-in provider. */
export function NewProvider() {
  return (
    <AdminPage title="Add provider" path="admin/sign-in-providers" above={{ label: 'Sign-in providers', to: list }}>
      <ProviderForm />
    </AdminPage>
  );
}

function ProviderForm() {
  const navigate = useNavigate();
  const draft = useDraft(newProvider);
  const add = useChange(
    (api) =>
      api.POST('/api/v2/admin/sign-in-providers', {
        body: { data: { type: 'sign-in-providers', attributes: sentProvider(draft.value) } },
      }),
    ({ data }) => void navigate({ to: `${list}/${data?.id}` }),
  );
  return (
    <Form action="Add provider" change={add} onSend={() => add.mutate()} onBack={() => void navigate({ to: list })}>
      <p className="second">
        At the provider, create a confidential client for the code flow, with the redirect URI{' '}
        <Copied text={`${location.origin}/ui/sign-in/callback`} what="address to come back to" />
      </p>
      <ProviderFields draft={draft} error={add.error} stored={false} />
    </Form>
  );
}
