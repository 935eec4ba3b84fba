import { Plus, X } from 'lucide-react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';

/** Statements for a database, each in a separate editor: a comma or a semicolon does not end a statement. */
export function StatementsField({
  label,
  hint,
  error,
  statements,
  onChange,
  usual,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly statements: readonly string[];
  readonly onChange: (statements: readonly string[]) => void;
  /** Suggested statements, offered while there is no statement. */
  readonly usual: readonly string[];
}) {
  return (
    <fieldset className="stack-tight statements">
      <legend>{label}</legend>
      {hint === undefined ? null : <p className="small second">{hint}</p>}
      {statements.map((statement, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a statement has no key except its index
        <div key={at} className="stack-tight">
          <TextField
            label={`Statement ${at + 1}`}
            rows={3}
            value={statement}
            onChange={(text) => onChange(statements.with(at, text))}
            error={at === 0 ? error : undefined}
          />
          <div>
            <Button
              small
              kind="quiet"
              icon={X}
              label={`Remove statement ${at + 1} of ${label.toLowerCase()}`}
              onClick={() => onChange(statements.toSpliced(at, 1))}
            >
              Remove
            </Button>
          </div>
        </div>
      ))}
      <div className="row">
        <Button
          small
          icon={Plus}
          label={`Add statement to ${label.toLowerCase()}`}
          onClick={() => onChange([...statements, ''])}
        >
          Add statement
        </Button>
        {statements.length === 0 && usual.length > 0 ? (
          <Button small onClick={() => onChange(usual)}>
            Use the usual statements
          </Button>
        ) : null}
      </div>
      {statements.length === 0 && error !== undefined ? <p className="small removed">{error}</p> : null}
    </fieldset>
  );
}
