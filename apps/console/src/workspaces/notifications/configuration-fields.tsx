import { CheckField, SelectField, TextField } from '../../design/field';
import { type Draft, fieldsOf } from '../parts/draft';
import { typedLines, typedText } from '../parts/typed';
import { type Configuration, type Destination, destinations, type Trigger, triggerGroups } from './triggers';

/** The values of a configuration in the form. */
export interface TypedConfiguration {
  readonly name: string;
  readonly 'destination-type': Destination;
  readonly url: string;
  readonly token: string;
  readonly 'email-addresses': string;
  readonly triggers: readonly Trigger[];
  readonly enabled: boolean;
}

export const newConfiguration: TypedConfiguration = {
  name: '',
  'destination-type': 'generic',
  url: '',
  token: '',
  'email-addresses': '',
  triggers: ['run:needs_attention', 'run:errored'],
  enabled: true,
};

/** A stored configuration, for the form. Its token is never returned. */
export const typedConfiguration = ({ attributes }: Configuration): TypedConfiguration => ({
  name: attributes.name,
  'destination-type': attributes['destination-type'],
  url: attributes.url ?? '',
  token: '',
  'email-addresses': attributes['email-addresses'].join('\n'),
  triggers: attributes.triggers,
  enabled: attributes.enabled,
});

/** The attributes to send: only those that the user filled in. */
export function sentConfiguration(typed: Partial<TypedConfiguration>) {
  const { url, token, 'email-addresses': addresses, triggers, name, enabled } = typed;
  return {
    ...(name === undefined ? {} : { name }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(triggers === undefined ? {} : { triggers: [...triggers] }),
    ...(url === undefined ? {} : { url: typedText(url) }),
    ...(token === undefined || token === '' ? {} : { token }),
    ...(addresses === undefined ? {} : { 'email-addresses': typedLines(addresses) }),
  };
}

export interface ConfigurationFieldsProps {
  readonly draft: Draft<TypedConfiguration>;
  readonly error: unknown;
  /**
   * Whether the configuration already exists. Then its destination type cannot change, and its token is kept unless
   * another token is entered.
   */
  readonly stored: boolean;
}

/** The fields of a configuration. */
export function ConfigurationFields({ draft, error, stored }: ConfigurationFieldsProps) {
  const { value, set } = draft;
  const { field, check } = fieldsOf(draft, error);
  const kind = value['destination-type'];
  const choose = (trigger: Trigger, isChosen: boolean) => {
    const others = value.triggers.filter((one) => one !== trigger);
    set('triggers')(isChosen ? [...others, trigger] : others);
  };
  return (
    <>
      <TextField label="Name" required {...field('name')} />
      {stored ? null : (
        <SelectField
          label="Destination"
          {...field('destination-type')}
          options={Object.entries(destinations).map(([name, label]) => ({ value: name as Destination, label }))}
        />
      )}
      {kind === 'email' ? (
        <TextField label="Email addresses" rows={3} {...field('email-addresses')} hint="One per line." />
      ) : (
        <TextField
          label="Address"
          required
          type="url"
          {...field('url')}
          placeholder="https://hooks.example.com/runs"
          hint="A test is sent when you save."
        />
      )}
      {kind === 'generic' ? (
        <TextField
          label="Token"
          masked
          {...field('token')}
          hint={
            stored
              ? 'Stored encrypted. Leave empty to keep it.'
              : 'Signs requests (X-TFE-Notification-Signature, HMAC-SHA512). It is encrypted and never shown again.'
          }
        />
      ) : null}
      {triggerGroups.map(([label, triggers]) => (
        <fieldset key={label} className="stack-tight">
          <legend>{label}</legend>
          {triggers.map(([trigger, text]) => (
            <CheckField
              key={trigger}
              label={text}
              checked={value.triggers.includes(trigger)}
              onChange={(isChosen) => choose(trigger, isChosen)}
            />
          ))}
        </fieldset>
      ))}
      <CheckField label="Enabled" {...check('enabled')} hint="When off, nothing is sent, not even a test." />
    </>
  );
}
