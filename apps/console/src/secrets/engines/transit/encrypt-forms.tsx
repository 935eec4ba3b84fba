import { Download } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../design/button';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Lines } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { SecretValue } from '../../../design/secret-value';
import { bytesOf, utf8Of } from '../bytes';
import type { TransitKey } from './key';
import {
  AssociatedField,
  Base64Field,
  ContextField,
  InputField,
  type PadFormProps,
  type PartProps,
  Result,
  useUse,
  useUseMay,
  VersionField,
} from './pad-parts';
import { boundFields, type PadState, sentOf, type TextName, versionField } from './pad-state';

interface Encrypted {
  readonly ciphertext: string;
  readonly key_version: number;
}

const Ciphertext = ({ of }: { readonly of: Encrypted }) => (
  <Result title={`Ciphertext, by version ${of.key_version}`}>
    <Lines text={of.ciphertext} what="ciphertext" />
  </Result>
);

const bound: readonly TextName[] = ['context', 'associated'];

export function Encrypt(props: PadFormProps) {
  const { of: key, state, onChange } = props;
  const { answer, change, parts, send } = useUse<Encrypted>(props, 'input', ({ ciphertext }) =>
    onChange({ ciphertext }),
  );
  const may = useUseMay(props, 'encrypt');
  const body = () => ({ plaintext: sentOf(state, 'input'), ...boundFields(state, key), ...versionField(state) });
  return (
    <div className="stack">
      <Form action="Encrypt" change={change} {...may} onSend={() => send('encrypt', body, ['input', ...bound])}>
        <InputField label="Plaintext" {...parts} />
        <ContextField {...parts} />
        <AssociatedField {...parts} />
        <VersionField {...parts} />
      </Form>
      {answer === undefined ? null : <Ciphertext of={answer} />}
    </div>
  );
}

function CiphertextField({ state, onChange, wrong }: PartProps) {
  return (
    <TextField
      label="Ciphertext"
      required
      rows={4}
      value={state.ciphertext}
      onChange={(ciphertext) => onChange({ ciphertext })}
      placeholder="vault:v1:…"
      error={wrong.ciphertext}
    />
  );
}

const decrypted = (state: PadState, key: TransitKey) => ({
  ciphertext: state.ciphertext.trim(),
  ...boundFields(state, key),
});

export function Decrypt(props: PadFormProps) {
  const { of: key, state, onChange } = props;
  const { answer, change, parts, send } = useUse<{ readonly plaintext: string }>(props, 'ciphertext');
  const may = useUseMay(props, 'decrypt');
  const bytes = answer === undefined ? undefined : bytesOf(answer.plaintext);
  const text = bytes === undefined || state.isBase64 ? undefined : utf8Of(bytes);
  return (
    <div className="stack">
      <Form
        action="Decrypt"
        change={change}
        {...may}
        onSend={() => send('decrypt', () => decrypted(state, key), bound)}
      >
        <CiphertextField {...parts} />
        <ContextField {...parts} />
        <AssociatedField {...parts} />
        <Base64Field {...parts} onChange={onChange} />
      </Form>
      {answer === undefined || bytes === undefined ? null : (
        <Result title="Plaintext">
          {text === undefined && !state.isBase64 ? (
            <p className="second">These bytes are not text: shown in base64.</p>
          ) : null}
          <div className="row">
            <SecretValue name="plaintext" value={text ?? answer.plaintext} />
            <Button
              small
              kind="quiet"
              icon={Download}
              onClick={() => saveFile(`${key.name}-plaintext`, bytes, 'application/octet-stream')}
            >
              Download
            </Button>
          </div>
        </Result>
      )}
    </div>
  );
}

export function Rewrap(props: PadFormProps) {
  const { of: key, state } = props;
  const { answer, change, parts, send } = useUse<Encrypted>(props, 'ciphertext');
  const may = useUseMay(props, 'rewrap');
  const body = () => ({ ...decrypted(state, key), ...versionField(state) });
  return (
    <div className="stack">
      <p className="second">
        Encrypts a ciphertext again with a newer version of the key, without showing its plaintext.
      </p>
      <Form action="Rewrap" change={change} {...may} onSend={() => send('rewrap', body, bound)}>
        <CiphertextField {...parts} />
        <ContextField {...parts} />
        <AssociatedField {...parts} />
        <VersionField {...parts} />
        {key.derived || state.associated !== '' ? <Base64Field {...parts} /> : null}
      </Form>
      {answer === undefined ? null : <Ciphertext of={answer} />}
    </div>
  );
}

export function DataKey(props: PadFormProps) {
  const { of: key, state } = props;
  const { answer, change, parts, send } = useUse<Encrypted & { readonly plaintext?: string }>(props, 'context');
  const [bits, setBits] = useState('256');
  const [shown, setShown] = useState(true);
  const use = shown ? 'datakey/plaintext' : 'datakey/wrapped';
  const may = useUseMay(props, use);
  const body = () => ({ bits: Number(bits), ...boundFields(state, key), ...versionField(state) });
  return (
    <div className="stack">
      <p className="second">
        A new key for an application that encrypts large data itself. It stores the ciphertext next to the data, and has
        it decrypted when it needs the key again.
      </p>
      <Form action="Create data key" change={change} {...may} onSend={() => send(use, body, bound)}>
        <SelectField
          label="Length"
          value={bits}
          onChange={setBits}
          options={['128', '256', '512'].map((value) => ({ value, label: `${value} bits` }))}
        />
        <CheckField
          label="Show the key in plaintext"
          checked={shown}
          onChange={setShown}
          hint="Otherwise only its ciphertext is returned."
        />
        <ContextField {...parts} />
        <AssociatedField {...parts} />
        <VersionField {...parts} />
        {key.derived || state.associated !== '' ? <Base64Field {...parts} /> : null}
      </Form>
      {answer?.plaintext === undefined ? null : (
        <Result title="Key, in base64">
          <SecretValue name="data key" value={answer.plaintext} />
        </Result>
      )}
      {answer === undefined ? null : <Ciphertext of={answer} />}
    </div>
  );
}
