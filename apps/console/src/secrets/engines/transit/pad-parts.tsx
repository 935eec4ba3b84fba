import { useMutation } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ApiError } from '../../../api/api-error';
import { Button } from '../../../design/button';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { FileButton } from '../../../design/file-button';
import { useSession } from '../../../shell/session';
import { useMay } from '../../may';
import { encodedPath } from '../../reads';
import { base64Of } from '../bytes';
import { encryptsFrom, familyOf, type TransitKey } from './key';
import { type PadState, problemOf, type TextName } from './pad-state';

export interface PadFormProps {
  readonly mount: string;
  readonly of: TransitKey;
  readonly state: PadState;
  readonly onChange: (part: Partial<PadState>) => void;
}

type FieldName = TextName | 'ciphertext' | 'signature' | 'hmac';

/** The field in an error message; `main` if the message names none. */
const fieldOf = (message: string, main: FieldName): FieldName =>
  /context/i.test(message) ? 'context' : /associated/i.test(message) ? 'associated' : main;

const meanings: readonly (readonly [RegExp, string])[] = [
  [
    /message authentication failed|RSA decrypt/,
    'Another key made it, or this key with another context or other associated data.',
  ],
  [/too old/, 'The minimum decryption version of this key is higher.'],
];

/** The message of the service, with an explanation if the message is too short to understand. */
const explained = (message: string): string => {
  const [, meaning] = meanings.find(([words]) => words.test(message)) ?? [];
  return meaning === undefined ? message : `${message}. ${meaning}`;
};

/** An operation with a key. Only this page keeps its input and result. */
export function useUse<Answer>(
  { mount, of: key, state, onChange }: PadFormProps,
  main: FieldName,
  onAnswer?: (answer: Answer) => void,
) {
  const { transport } = useSession();
  const [wrong, setWrong] = useState<Partial<Record<FieldName, string>>>({});
  const call = useMutation<Answer, Error, { readonly use: string; readonly body?: object }>({
    gcTime: 0,
    mutationFn: async ({ use, body }) => {
      const path = `/v1/${encodedPath(mount)}${use}/${encodeURIComponent(key.name)}`;
      return (await transport.call<{ data: Answer }>(body === undefined ? 'GET' : 'POST', path, body)).data;
    },
    ...(onAnswer === undefined ? {} : { onSuccess: onAnswer }),
  });
  const { error } = call;
  const refused =
    error instanceof ApiError && error.status === 400
      ? { [fieldOf(error.message, main)]: explained(error.message) }
      : undefined;
  /** A result belongs to the current values of the fields. The result is removed when they change. */
  const edit = (part: Partial<PadState>) => {
    if (!call.isIdle) call.reset();
    setWrong({});
    onChange(part);
  };
  return {
    answer: call.data,
    parts: { of: key, state, onChange: edit, wrong: { ...wrong, ...refused } },
    change: { isPending: call.isPending, error: refused === undefined ? error : null },
    send(use: string, makeBody: (() => object) | undefined, texts: readonly TextName[]) {
      const found = Object.fromEntries(texts.map((one) => [one, problemOf(state, one)]));
      setWrong(found);
      call.reset();
      if (Object.values(found).every((problem) => problem === undefined))
        call.mutate({ use, ...(makeBody === undefined ? {} : { body: makeBody() }) });
    },
  };
}

/** Why an operation is not allowed, for the button of its form. */
export function useUseMay(
  { mount, of: { name } }: PadFormProps,
  use: string,
  capability: 'update' | 'read' = 'update',
) {
  const path = `${mount}${use}/${name}`;
  return useMay([path])({ path, capabilities: [capability] });
}

/** The properties that every field of a form gets. */
export interface PartProps extends Pick<PadFormProps, 'of' | 'state' | 'onChange'> {
  readonly wrong: Partial<Record<FieldName, string>>;
}

export const Base64Field = ({ state, onChange }: PartProps) => (
  <CheckField label="Base64" checked={state.isBase64} onChange={(isBase64) => onChange({ isBase64 })} />
);

/** The input to encrypt, sign or hash: text or a file. */
export function InputField({ label, ...parts }: PartProps & { readonly label: string }) {
  const {
    state: { file, input },
    onChange,
    wrong: { input: error },
  } = parts;
  const take = async (chosen: File) => {
    const base64 = base64Of(new Uint8Array(await chosen.arrayBuffer()));
    onChange({ file: { name: chosen.name, size: chosen.size, base64 } });
  };
  return (
    <div className="stack-tight">
      {file === undefined ? (
        <TextField label={label} rows={4} value={input} onChange={(text) => onChange({ input: text })} error={error} />
      ) : (
        <div className="field">
          <span className="label">{label}</span>
          <span className="row">
            {file.name} <span className="second">{file.size.toLocaleString('en')} bytes</span>
            <Button small kind="quiet" icon={X} onClick={() => onChange({ file: undefined })}>
              Remove file
            </Button>
          </span>
          {error === undefined ? null : <span className="small removed">{error}</span>}
        </div>
      )}
      <div className="row spread">
        <Base64Field {...parts} />
        <FileButton onFile={(chosen) => void take(chosen)}>Use a file</FileButton>
      </div>
    </div>
  );
}

/** The context of a derived key. */
export function ContextField({ of: { derived }, state, onChange, wrong }: PartProps) {
  if (!derived) return null;
  return (
    <TextField
      label="Context"
      required
      value={state.context}
      onChange={(context) => onChange({ context })}
      hint="This key is derived: each context has its own."
      error={wrong.context}
    />
  );
}

/** The associated data, for key types that support it. */
export function AssociatedField({ of, state, onChange, wrong }: PartProps) {
  if (familyOf(of) !== 'aead') return null;
  return (
    <TextField
      label="Associated data (optional)"
      value={state.associated}
      onChange={(associated) => onChange({ associated })}
      hint="Needed again to decrypt, such as the id of a row."
      error={wrong.associated}
    />
  );
}

/** The version that encrypts or signs; not shown if there is only one. */
export function VersionField({ of: key, state, onChange }: PartProps) {
  const oldest = key.min_encryption_version === 0 ? key.min_available_version || 1 : encryptsFrom(key);
  const from = Math.max(oldest, key.min_decryption_version);
  if (from >= key.latest_version) return null;
  const versions = Array.from({ length: key.latest_version - from }, (_, at) => String(key.latest_version - 1 - at));
  return (
    <SelectField
      label="Key version"
      value={state.version}
      onChange={(version) => onChange({ version })}
      options={[{ value: '', label: `Newest (${key.latest_version})` }, ...versions]}
    />
  );
}

/** The result of an operation. */
export function Result({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="stack-tight" role="status" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
