import type { Resource } from '../../../api/workspaces';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { type Draft, fieldsOf, typedNumber } from '../../parts/draft';
import { typedText, typedWords } from '../../parts/typed';

export type ProviderResource = Resource<'SignInProvidersResource'>;

/** The values of a provider in the form: lists are strings, and no value is an empty string. */
export interface TypedProvider {
  readonly name: string;
  readonly issuer: string;
  readonly 'client-id': string;
  readonly 'client-secret': string;
  readonly enabled: boolean;
  readonly scopes: string;
  readonly 'username-claim': string;
  readonly 'email-claim': string;
  readonly 'groups-claim': string;
  readonly 'site-admin-group': string;
  readonly organizations: string;
  readonly 'session-hours': string;
  readonly 'creates-accounts': boolean;
  readonly 'links-accounts': boolean;
  readonly 'password-sign-in': 'allowed' | 'administrators';
  readonly 'ca-certificate': string;
}

/** The values of a new provider. */
export const newProvider: TypedProvider = {
  name: '',
  issuer: '',
  'client-id': '',
  'client-secret': '',
  enabled: true,
  scopes: 'openid profile email',
  'username-claim': 'preferred_username',
  'email-claim': 'email',
  'groups-claim': '',
  'site-admin-group': '',
  organizations: '',
  'session-hours': '',
  'creates-accounts': true,
  'links-accounts': false,
  'password-sign-in': 'allowed',
  'ca-certificate': '',
};

/** A stored provider, for the form. Its secret is never returned. */
export function typedProvider({ attributes }: ProviderResource): TypedProvider {
  const { 'created-at': _created, kind: _kind, ...settings } = attributes;
  return {
    ...settings,
    'client-secret': '',
    scopes: settings.scopes.join(' '),
    'groups-claim': settings['groups-claim'] ?? '',
    'site-admin-group': settings['site-admin-group'] ?? '',
    organizations: (settings.organizations ?? []).join(' '),
    'session-hours': String(settings['session-hours'] ?? ''),
    'ca-certificate': settings['ca-certificate'] ?? '',
  };
}

const readers = {
  name: (text: string) => text.trim(),
  issuer: (text: string) => text.trim(),
  scopes: typedWords,
  'groups-claim': typedText,
  'site-admin-group': typedText,
  organizations: (text: string) => (typedWords(text).length === 0 ? null : typedWords(text)),
  'session-hours': typedNumber,
  'ca-certificate': typedText,
};
type ReadForm = { [Name in keyof typeof readers]: ReturnType<(typeof readers)[Name]> };

/** The attributes to send: only those that the user filled in. */
export function sentProvider<Given extends Partial<TypedProvider>>(typed: Given) {
  const entries = Object.entries(typed).map(([name, value]) => {
    const read = (readers as Record<string, (text: string) => unknown>)[name];
    return [name, read === undefined ? value : read(String(value))];
  });
  return Object.fromEntries(entries) as {
    [Name in keyof Given]: Name extends keyof ReadForm ? ReadForm[Name] : Given[Name];
  };
}

export interface ProviderFieldsProps {
  readonly draft: Draft<TypedProvider>;
  readonly error: unknown;
  /** Whether the provider already exists. Then its secret is kept unless another secret is entered. */
  readonly stored: boolean;
}

/** The fields of a provider. */
export function ProviderFields({ draft, error, stored }: ProviderFieldsProps) {
  const { field, check } = fieldsOf(draft, error);
  return (
    <>
      <TextField label="Name" required hint="Shown on the button: Sign in with …" {...field('name')} />
      <TextField
        label="Issuer"
        required
        type="url"
        placeholder="https://id.example.com/realms/staff"
        hint="Exactly as in the provider’s /.well-known/openid-configuration."
        {...field('issuer')}
      />
      <TextField label="Client id" required {...field('client-id')} />
      <TextField
        label="Client secret"
        masked
        required={!stored}
        hint={stored ? 'Stored encrypted. Leave empty to keep it.' : 'It is encrypted and never shown again.'}
        {...field('client-secret')}
      />
      <CheckField label="Enabled" {...check('enabled')} />
      <CheckField
        label="Create accounts at the first sign-in"
        hint="Otherwise only people with an account here can sign in."
        {...check('creates-accounts')}
      />
      <CheckField
        label="Link accounts by verified email"
        hint="Each account is linked only once; its password and tokens are then revoked. Accounts of administrators are never linked."
        {...check('links-accounts')}
      />
      <TextField
        label="Claim with the groups"
        placeholder="groups"
        hint="The claim with the user’s groups, which fill the teams that name them. A value that begins with a slash is a JSON pointer: /realm_access/roles"
        {...field('groups-claim')}
      />
      <TextField
        label="Group of site administrators"
        hint="Its members are site administrators until they sign in without being in this group."
        {...field('site-admin-group')}
      />
      <TextField
        label="Organizations whose teams it fills"
        placeholder="all"
        hint="Names, separated by spaces."
        {...field('organizations')}
      />
      <SelectField
        label="Sign-in by password"
        {...field('password-sign-in')}
        options={[
          { value: 'allowed', label: 'allowed as well' },
          { value: 'administrators', label: 'only for site administrators' },
        ]}
        hint="Administrators with a password can sign in while the provider is down."
      />
      <details className="stack-tight">
        <summary>More: claims, scopes, length of sessions, certificate</summary>
        <TextField label="Claim with the user name" {...field('username-claim')} />
        <TextField label="Claim with the address" {...field('email-claim')} />
        <TextField label="Scopes" {...field('scopes')} />
        <TextField
          label="Session expiration, in hours"
          inputMode="numeric"
          placeholder="as other sessions"
          {...field('session-hours')}
        />
        <TextField
          label="CA certificates"
          rows={4}
          placeholder="the usual ones"
          hint="In PEM."
          {...field('ca-certificate')}
        />
      </details>
    </>
  );
}
