import { PickerField } from '../design/picker';
import { useList } from './reads';

/** Selects policies by name; names can also be typed, as listing may be forbidden. */
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
  return (
    <PickerField
      label={label}
      {...(hint === undefined ? {} : { hint })}
      options={options}
      chosen={chosen}
      onChange={onChange}
      free
      unlisted="no policy has this name"
      placeholder="Choose policies"
    />
  );
}
