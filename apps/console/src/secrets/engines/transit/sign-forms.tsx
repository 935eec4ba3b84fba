import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Lines } from '../../../design/page';
import { SecretValue, ValuesShown } from '../../../design/secret-value';
import { familyOf, type TransitKey } from './key';
import {
  ContextField,
  InputField,
  type PadFormProps,
  type PartProps,
  Result,
  useUse,
  useUseMay,
  VersionField,
} from './pad-parts';
import { hashNames, type PadState, sentOf, versionField } from './pad-state';

const HashField = ({ state, onChange }: PartProps) => (
  <SelectField label="Hash algorithm" value={state.hash} onChange={(hash) => onChange({ hash })} options={hashNames} />
);

/** How to sign, if the key type offers a choice. */
function SchemeFields(parts: PartProps) {
  const { of: key, state, onChange } = parts;
  const family = familyOf(key);
  if (family === 'ed25519') return null;
  return (
    <>
      <HashField {...parts} />
      {family === 'rsa' ? (
        <SelectField
          label="Signature algorithm"
          value={state.padding}
          onChange={(padding) => onChange({ padding })}
          options={['pss', 'pkcs1v15']}
        />
      ) : (
        <SelectField
          label="Signature format"
          value={state.marshaling}
          onChange={(marshaling) => onChange({ marshaling })}
          options={[
            { value: 'asn1', label: 'asn1 – as in certificates' },
            { value: 'jws', label: 'jws – as in signed tokens' },
          ]}
        />
      )}
      <CheckField
        label="Prehashed"
        checked={state.prehashed}
        onChange={(prehashed) => onChange({ prehashed })}
        hint="The input is a digest already."
      />
    </>
  );
}

const schemeOf = (state: PadState, key: TransitKey) => {
  const family = familyOf(key);
  if (family === 'ed25519') return {};
  const form = family === 'rsa' ? { signature_algorithm: state.padding } : { marshaling_algorithm: state.marshaling };
  return { hash_algorithm: state.hash, prehashed: state.prehashed, ...form };
};

const contextField = (state: PadState, { derived }: TransitKey) =>
  derived ? { context: sentOf(state, 'context') } : {};

interface SignAnswer {
  readonly signature: string;
  readonly key_version: number;
  /** The public key; only for derived keys, which have a public key for each context. */
  readonly public_key?: string;
}

export function Sign(props: PadFormProps) {
  const { of: key, state, onChange } = props;
  const { answer, change, parts, send } = useUse<SignAnswer>(props, 'input', ({ signature }) =>
    onChange({ signature }),
  );
  const may = useUseMay(props, 'sign');
  const body = () => ({
    input: sentOf(state, 'input'),
    ...contextField(state, key),
    ...schemeOf(state, key),
    ...versionField(state),
  });
  return (
    <div className="stack">
      <Form action="Sign" change={change} {...may} onSend={() => send('sign', body, ['input', 'context'])}>
        <InputField label="Message" {...parts} />
        <ContextField {...parts} />
        <SchemeFields {...parts} />
        <VersionField {...parts} />
      </Form>
      {answer === undefined ? null : (
        <Result title={`Signature, by version ${answer.key_version}`}>
          <Lines text={answer.signature} what="signature" />
          {answer.public_key === undefined ? null : (
            <>
              <h3>Public key of this context</h3>
              <Lines text={answer.public_key} what="public key" />
            </>
          )}
        </Result>
      )}
    </div>
  );
}

export function Verify(props: PadFormProps) {
  const { of: key, state } = props;
  const [isHmac, setHmac] = useState(!key.supports_signing);
  const what = isHmac ? 'hmac' : 'signature';
  const { answer, change, parts, send } = useUse<{ readonly valid: boolean }>(props, what);
  const may = useUseMay(props, 'verify');
  const body = () => ({
    input: sentOf(state, 'input'),
    [what]: state[what].trim(),
    ...(isHmac ? { hash_algorithm: state.hash } : { ...contextField(state, key), ...schemeOf(state, key) }),
  });
  const name = isHmac ? 'HMAC' : 'signature';
  return (
    <div className="stack">
      <Form action="Verify" change={change} {...may} onSend={() => send('verify', body, ['input', 'context'])}>
        {key.supports_signing ? (
          <SelectField
            label="Verify"
            value={what}
            onChange={(next) => {
              parts.onChange({});
              setHmac(next === 'hmac');
            }}
            options={[
              { value: 'signature', label: 'a signature' },
              { value: 'hmac', label: 'an HMAC' },
            ]}
          />
        ) : null}
        <InputField label="Message" {...parts} />
        <TextField
          label={isHmac ? 'HMAC' : 'Signature'}
          required
          rows={3}
          value={state[what]}
          onChange={(text) => parts.onChange({ [what]: text })}
          placeholder="vault:v1:…"
          error={parts.wrong[what]}
        />
        {isHmac ? (
          <HashField {...parts} />
        ) : (
          <>
            <ContextField {...parts} />
            <SchemeFields {...parts} />
          </>
        )}
      </Form>
      {answer === undefined ? null : (
        <div role="status">
          {answer.valid ? (
            <Notice tone="green">Valid: this key made the {name}, and the message is unchanged.</Notice>
          ) : (
            <Notice tone="red">Not valid: the message was changed, or another key or algorithm made the {name}.</Notice>
          )}
        </div>
      )}
    </div>
  );
}

export function Hmac(props: PadFormProps) {
  const { state, onChange } = props;
  const { answer, change, parts, send } = useUse<{ readonly hmac: string }>(props, 'input', ({ hmac }) =>
    onChange({ hmac }),
  );
  const may = useUseMay(props, 'hmac');
  const body = () => ({ input: sentOf(state, 'input'), algorithm: state.hash, ...versionField(state) });
  return (
    <div className="stack">
      <Form action="Create HMAC" change={change} {...may} onSend={() => send('hmac', body, ['input'])}>
        <InputField label="Message" {...parts} />
        <HashField {...parts} />
        <VersionField {...parts} />
      </Form>
      {answer === undefined ? null : (
        <Result title="HMAC">
          <Lines text={answer.hmac} what="HMAC" />
        </Result>
      )}
    </div>
  );
}

export function Export(props: PadFormProps) {
  const { of: key, mount } = props;
  const kinds = [
    ...(key.supports_encryption ? [{ value: 'encryption-key', label: 'Encryption key' }] : []),
    ...(key.supports_signing ? [{ value: 'signing-key', label: 'Signing key' }] : []),
    { value: 'hmac-key', label: 'HMAC key' },
  ];
  const [kind, setKind] = useState(kinds[0]!.value);
  const { answer, change, send } = useUse<{ readonly keys: Readonly<Record<string, string>> }>(props, 'input');
  const may = useUseMay(props, `export/${kind}`, 'read');
  return (
    <div className="stack">
      <p className="second">The key in plain text: from now on, keeping it safe is up to you.</p>
      <Form action="Export" change={change} {...may} onSend={() => send(`export/${kind}`, undefined, [])}>
        <SelectField label="Export" value={kind} onChange={setKind} options={kinds} />
      </Form>
      {answer === undefined ? null : (
        <Result title="Versions">
          <ValuesShown>
            <dl className="facts">
              {Object.entries(answer.keys).map(([version, text]) => (
                <div key={version} className="contents">
                  <dt>Version {version}</dt>
                  <dd>
                    <SecretValue name={`version ${version} of ${mount}${key.name}`} value={text} />
                  </dd>
                </div>
              ))}
            </dl>
          </ValuesShown>
        </Result>
      )}
    </div>
  );
}
