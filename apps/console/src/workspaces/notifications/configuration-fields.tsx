import { CheckField, SelectField, TextField } from '../../design/field';
import { fieldError } from '../parts/draft';
import { typedLines, typedText } from '../parts/typed';
import { type Configuration, type Destination, destinations, type Trigger, triggerGroups } from './triggers';

/** A configuration as it stands in the form. */
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

/** A stored configuration, for the form. Its token is told to nobody. */
export const typedConfiguration = ({ attributes }: Configuration): TypedConfiguration => ({
  name: attributes.name,
  'destination-type': attributes['destination-type'],
  url: attributes.url ?? '',
  token: '',
  'email-addresses': attributes['email-addresses'].join('\n'),
  triggers: attributes.triggers,
  enabled: attributes.enabled,
});

/** What is sent of what was typed: as much of it as is given. */
export function sentConfiguration(given: Partial<TypedConfiguration>) {
  const { url, token, 'email-addresses': addresses, triggers, name, enabled } = given;
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
  readonly value: TypedConfiguration;
  readonly set: <Name extends keyof TypedConfiguration>(name: Name) => (value: TypedConfiguration[Name]) => void;
  readonly error: unknown;
  /** It is there already: where it goes stays of its kind, and its token unless another is typed. */
  readonly stored: boolean;
}

/** The fields of a configuration. */
export function ConfigurationFields({ value, set, error: refusal, stored }: ConfigurationFieldsProps) {
  const error = (field: string) => fieldError(refusal, field);
  const kind = value['destination-type'];
  const choose = (trigger: Trigger, told: boolean) => {
    const others = value.triggers.filter((one) => one !== trigger);
    set('triggers')(told ? [...others, trigger] : others);
  };
  return (
    <>
      <TextField label="Name" required value={value.name} onChange={set('name')} error={error('name')} />
      {stored ? null : (
        <SelectField
          label="Whom to tell"
          value={kind}
          onChange={(chosen) => set('destination-type')(chosen as Destination)}
          options={Object.entries(destinations).map(([name, label]) => ({ value: name, label }))}
          error={error('destination-type')}
        />
      )}
      {kind === 'email' ? (
        <TextField
          label="E-mail addresses"
          rows={3}
          value={value['email-addresses']}
          onChange={set('email-addresses')}
          error={error('email-addresses')}
          hint="One a line."
        />
      ) : (
        <TextField
          label="Address"
          required
          type="url"
          value={value.url}
          onChange={set('url')}
          placeholder="https://hooks.example.com/runs"
          error={error('url')}
          hint="It is tried when you save, and has to answer well."
        />
      )}
      {kind === 'generic' ? (
        <TextField
          label="Token"
          masked
          value={value.token}
          onChange={set('token')}
          error={error('token')}
          hint={
            stored
              ? 'Sealed. Empty leaves it as it is.'
              : 'Signs what is sent (X-TFE-Notification-Signature, HMAC-SHA512). Sealed, and never shown again.'
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
              onChange={(told) => choose(trigger, told)}
            />
          ))}
        </fieldset>
      ))}
      <CheckField
        label="Enabled"
        checked={value.enabled}
        onChange={set('enabled')}
        error={error('enabled')}
        hint="Otherwise nobody is told, and the address is not tried."
      />
    </>
  );
}
