import type { Resource } from '../../../api/workspaces';
import { Badge } from '../../../design/badge';
import { Copied } from '../../../design/copy';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { SettingsForm } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { useSession } from '../../../shell/session';
import { useChange, useRead } from '../../api';
import { fieldsOf, typedNumber, useDraft } from '../../parts/draft';
import { Loaded } from '../../parts/loaded';
import { RemoveButton } from '../../parts/remove-button';
import { typedText } from '../../parts/typed';
import { AdminPage } from '../frame';

type SamlSettings = Resource<'SamlSettingsResource'>['attributes'];

/** The settings of SAML sign-in. */
export function Saml() {
  const { session } = useSession();
  const settings = useRead(['admin', 'saml'], (api) => api.GET('/api/v2/admin/saml-settings'), {
    enabled: session['is-site-admin'],
  });
  const enabled = settings.data?.data?.attributes.enabled;
  return (
    <AdminPage
      title="SAML"
      path="admin/saml-settings"
      state={enabled === undefined ? null : enabled ? <Badge tone="green">enabled</Badge> : <Badge>disabled</Badge>}
    >
      <Loaded query={settings} rows={10}>
        {({ data }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>Metadata, which the provider imports</dt>
                <dd>
                  <Copied text={data.attributes['metadata-url']} what="address of the metadata" />
                </dd>
                <dt>The provider answers to</dt>
                <dd>
                  <Copied text={data.attributes['acs-consumer-url']} what="address of answers" />
                </dd>
              </dl>
              <OldCertificate attributes={data.attributes} />
              <Edit attributes={data.attributes} />
            </>
          )
        }
      </Loaded>
    </AdminPage>
  );
}

function OldCertificate({ attributes }: { readonly attributes: SamlSettings }) {
  if (attributes['old-idp-cert'] === null) return null;
  return (
    <Notice tone="amber">
      <span>Responses signed with the previous certificate are still accepted.</span>
      <span>
        <RemoveButton
          label="Revoke old certificate"
          title="Revoke the old certificate?"
          call={(api) => api.POST('/api/v2/admin/saml-settings/actions/revoke-old-certificate')}
        >
          <p>Only the current certificate will be accepted. Do this once the provider signs with it.</p>
        </RemoveButton>
      </span>
    </Notice>
  );
}

function typed(settings: SamlSettings) {
  return {
    enabled: settings.enabled,
    debug: settings.debug,
    'sso-endpoint-url': settings['sso-endpoint-url'] ?? '',
    'slo-endpoint-url': settings['slo-endpoint-url'] ?? '',
    'idp-cert': settings['idp-cert'] ?? '',
    'attr-username': settings['attr-username'],
    'attr-groups': settings['attr-groups'],
    'attr-site-admin': settings['attr-site-admin'],
    'site-admin-role': settings['site-admin-role'],
    'team-management-enabled': settings['team-management-enabled'],
    'want-assertions-signed': settings['want-assertions-signed'],
    'authn-requests-signed': settings['authn-requests-signed'],
    certificate: settings.certificate ?? '',
    'private-key': '',
    'signature-signing-method': settings['signature-signing-method'] as 'SHA1' | 'SHA256',
    'signature-digest-method': settings['signature-digest-method'] as 'SHA1' | 'SHA256',
    'sso-api-token-session-timeout': String(settings['sso-api-token-session-timeout']),
  };
}
type TypedSaml = ReturnType<typeof typed>;

const empties = ['sso-endpoint-url', 'slo-endpoint-url', 'idp-cert', 'certificate', 'private-key'] as const;

/** The attributes to send: null if an address or certificate is empty. */
function sent({ 'sso-api-token-session-timeout': seconds, ...settings }: Partial<TypedSaml>) {
  const nothing = Object.fromEntries(
    empties.flatMap((name) => (settings[name] === undefined ? [] : [[name, typedText(settings[name])]])),
  );
  return {
    ...settings,
    ...nothing,
    ...(seconds === undefined ? {} : { 'sso-api-token-session-timeout': typedNumber(seconds) ?? Number.NaN }),
  };
}

function Edit({ attributes }: { readonly attributes: SamlSettings }) {
  const draft = useDraft(typed(attributes));
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/admin/saml-settings', {
        body: { data: { type: 'saml-settings', attributes: sent(draft.changes) } },
      }),
    draft.reset,
  );
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <SettingsForm draft={draft} change={save} onSend={() => save.mutate()}>
      <CheckField
        label="Enable SAML sign-in"
        hint="Requires the address and the certificate of the provider."
        {...check('enabled')}
      />
      <TextField
        label="Address at which people sign in"
        type="url"
        placeholder="https://id.example.com/saml/sso"
        {...field('sso-endpoint-url')}
      />
      <TextField
        label="Certificate of the provider"
        rows={5}
        hint="In PEM: verifies signed responses. The previous one stays valid until you revoke it."
        {...field('idp-cert')}
      />
      <CheckField
        label="Groups fill teams"
        hint="Groups of the provider fill the teams, and the owners of organizations, that name them."
        {...check('team-management-enabled')}
      />
      <TextField label="Attribute with the groups" {...field('attr-groups')} />
      <TextField label="Group of site administrators" {...field('site-admin-role')} />
      <TextField label="Attribute with the user name" {...field('attr-username')} />
      <TextField label="Attribute of site administrators" {...field('attr-site-admin')} />
      <CheckField
        label="Require signed assertions"
        hint="Otherwise a signed response is enough."
        {...check('want-assertions-signed')}
      />
      <CheckField label="Show on the sign-in page why a response was refused" {...check('debug')} />
      <details className="stack-tight">
        <summary>More: signed requests, API tokens, sign-out</summary>
        <CheckField label="Sign requests to the provider" {...check('authn-requests-signed')} />
        <TextField label="Certificate of this service" rows={4} {...field('certificate')} />
        <TextField
          label="Private key of this service"
          rows={4}
          masked
          hint="In PEM. It is encrypted and never shown; leave empty to keep it."
          {...field('private-key')}
        />
        <SelectField
          label="Signature method of requests"
          options={['SHA256', 'SHA1']}
          {...field('signature-signing-method')}
        />
        <SelectField
          label="Digest method of requests"
          options={['SHA256', 'SHA1']}
          {...field('signature-digest-method')}
        />
        <TextField
          label="Lifetime of API tokens after a sign-in, in seconds"
          inputMode="numeric"
          {...field('sso-api-token-session-timeout')}
        />
        <TextField
          label="Single logout address"
          type="url"
          hint="Stored and shown, but without effect: single logout is not supported."
          {...field('slo-endpoint-url')}
        />
      </details>
      {draft.changes.enabled === false ? <Notice tone="amber">All SAML sessions end when you save.</Notice> : null}
    </SettingsForm>
  );
}
