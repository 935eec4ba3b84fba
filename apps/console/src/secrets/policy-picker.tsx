import { PickerField } from '../design/picker';
import { useList } from './reads';

/** Selects policies by name; names can also be typed, because the session may not be allowed to list them. */
export function PolicyPicker({
  label = 'Policies',
  hint,
  chosen,
  onChange,
}: {
  readonly label?: string;
  readonly hint?: string;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
}) {
  const { data = [] } = useList('sys/policies/acl');
  const options = data.filter((name) => name !== 'root').map((name) => ({ value: name, label: name }));
  const missing = data.length === 0 ? [] : chosen.filter((name) => name !== 'root' && !data.includes(name));
  return (
    <PickerField
      label={label}
      hint={
        missing.length === 0 ? (
          hint
        ) : (
          <>
            {hint} <span className="removed">There is no policy named {missing.join(', ')}.</span>
          </>
        )
      }
      options={options}
      chosen={chosen}
      onChange={onChange}
      free
      unlisted="no policy has this name"
      placeholder="Choose policies"
    />
  );
}
