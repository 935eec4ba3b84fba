import { TextField } from '../../../design/field';
import { FileButton } from '../../../design/file-button';

/** Texts in PEM, pasted or from a file. */
export function PemField({
  label,
  value,
  onChange,
  hint,
  error,
  placeholder = '-----BEGIN CERTIFICATE-----',
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly placeholder?: string;
}) {
  return (
    <div className="stack-tight">
      <TextField
        label={label}
        required
        rows={8}
        value={value}
        onChange={onChange}
        placeholder={placeholder}
        error={error}
        {...(hint === undefined ? {} : { hint })}
      />
      <div>
        <FileButton onFile={(file) => void file.text().then(onChange)}>Use a file</FileButton>
      </div>
    </div>
  );
}
