import { useParams } from '@tanstack/react-router';
import { Copied } from '../../../design/copy';
import { SettingsForm } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Time } from '../../../design/time';
import { useSession } from '../../../shell/session';
import { useChange, useRead } from '../../api';
import { DangerZone } from '../../parts/danger-zone';
import { useDraft } from '../../parts/draft';
import { Loaded } from '../../parts/loaded';
import { AdminPage } from '../frame';
import { ProviderFields, type ProviderResource, sentProvider, typedProvider } from './provider-form';

/** One sign-in provider. */
export function SignInProvider() {
  const { session } = useSession();
  const { provider: id = '' } = useParams({ strict: false }) as { provider?: string };
  const provider = useRead(
    ['admin', 'sign-in-provider', id],
    (api) => api.GET('/api/v2/admin/sign-in-providers/{provider_id}', { params: { path: { provider_id: id } } }),
    { enabled: session['is-site-admin'] },
  );
  const name = provider.data?.data?.attributes.name;
  return (
    <AdminPage
      title={name ?? 'Sign-in provider'}
      path={`admin/sign-in-providers/${id}`}
      above={{ label: 'Sign-in providers', to: '/admin/sign-in' }}
    >
      <Loaded query={provider} rows={10}>
        {({ data }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.id} what="provider id" />
                </dd>
                <dt>It sends people back to</dt>
                <dd>
                  <Copied text={`${location.origin}/ui/sign-in/callback`} what="address to come back to" />
                </dd>
                <dt>It reports sign-outs at</dt>
                <dd>
                  <Copied text={`${location.origin}/ui/sign-in/${data.id}/logout`} what="address of sign-outs" />
                </dd>
                <dt>Created</dt>
                <dd>
                  <Time at={data.attributes['created-at']} />
                </dd>
              </dl>
              <Edit key={data.id} provider={data} />
              <DangerZone
                what="provider"
                name={data.attributes.name}
                call={(api) =>
                  api.DELETE('/api/v2/admin/sign-in-providers/{provider_id}', {
                    params: { path: { provider_id: data.id } },
                  })
                }
                to="/admin/sign-in"
                forbidden={undefined}
              >
                Sessions that started at this provider end. Accounts and team memberships stay.
              </DangerZone>
            </>
          )
        }
      </Loaded>
    </AdminPage>
  );
}

function Edit({ provider }: { readonly provider: ProviderResource }) {
  const draft = useDraft(typedProvider(provider));
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/admin/sign-in-providers/{provider_id}', {
        params: { path: { provider_id: provider.id } },
        body: { data: { type: 'sign-in-providers', attributes: sentProvider(draft.changes) } },
      }),
    draft.reset,
  );
  return (
    <SettingsForm draft={draft} change={save} onSend={() => save.mutate()}>
      <ProviderFields draft={draft} error={save.error} stored />
      {draft.changes.enabled === false ? (
        <Notice tone="amber">All sessions that started at this provider end when you save.</Notice>
      ) : null}
    </SettingsForm>
  );
}
