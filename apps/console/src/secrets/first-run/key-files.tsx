import { useState } from 'react';
import { Button } from '../../design/button';
import { saveFile } from '../../design/save-file';

export interface KeyFilesProps {
  readonly keys: readonly string[];
  /** The number of shares needed to unseal or recover. */
  readonly threshold: number;
  /** The kind of shares: "Unseal" or "Recovery". */
  readonly kind: string;
  /** Called with the number of unsaved shares. */
  readonly onSaved: (unsavedCount: number) => void;
}

/** Key shares: each key holder saves a separate file, so that no screen shows all shares. */
export function KeyFiles({ keys, threshold, kind, onSaved }: KeyFilesProps) {
  const [saved, setSaved] = useState<readonly number[]>([]);
  const save = (index: number) => {
    const text = `${kind} key ${index + 1} of ${keys.length}; ${threshold} of them are needed.\n${keys[index]}\n`;
    saveFile(`keystead-key-${index + 1}.txt`, text);
    const now = [...new Set([...saved, index])];
    setSaved(now);
    onSaved(keys.length - now.length);
  };
  return (
    <ul className="list">
      {keys.map((key, index) => (
        <li key={key}>
          <span className="grow">
            Key {index + 1} {saved.includes(index) ? <span className="second">saved</span> : null}
          </span>
          <Button small label={`Save key ${index + 1} as a file`} onClick={() => save(index)}>
            Save as a file
          </Button>
        </li>
      ))}
    </ul>
  );
}
