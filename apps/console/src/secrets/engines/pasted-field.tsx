import type { DragEvent } from 'react';
import { TextField } from '../../design/field';
import { FileButton } from '../../design/file-button';

/** A string such as a key or a certificate: pasted, or read from a dropped or chosen file. */
export function PastedField({
  label,
  value,
  onChange,
  hint,
  error,
  placeholder = '-----BEGIN CERTIFICATE-----',
  rows = 8,
  masked = false,
  isOptional = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly placeholder?: string;
  readonly rows?: number;
  readonly masked?: boolean;
  readonly isOptional?: boolean;
}) {
  const take = (file: File) => void file.text().then(onChange);
  const drop = (event: DragEvent) => {
    const [file] = event.dataTransfer.files;
    if (file === undefined) return;
    event.preventDefault();
    take(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button below does the same with the keyboard
    <div className="stack-tight" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <TextField
        label={label}
        required={!isOptional}
        rows={rows}
        masked={masked}
        value={value}
        onChange={onChange}
        placeholder={placeholder}
        error={error}
        {...(hint === undefined ? {} : { hint })}
      />
      <div>
        <FileButton onFile={take}>Use a file</FileButton>
      </div>
    </div>
  );
}
