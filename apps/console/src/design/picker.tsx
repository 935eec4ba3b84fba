import { Combobox } from '@base-ui/react/combobox';
import { Check, X } from 'lucide-react';
import { type ReactNode, useId, useMemo, useState } from 'react';
import { useLayer } from './layer';

export interface PickerOption {
  readonly value: string;
  readonly label: string;
}

export interface PickerProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The options; empty while loading, or if they may not be listed. */
  readonly options: readonly PickerOption[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
  /** Whether the user may enter values that are not in the list. */
  readonly free?: boolean;
  /** The hint for a typed value that is not in the list, if the list is known. */
  readonly unlisted?: string;
  readonly placeholder?: string;
}

/** Selects several of many options by typing part of their names. */
export function PickerField({ label, hint, options, chosen, onChange, free, unlisted, placeholder }: PickerProps) {
  const id = useId();
  const layer = useLayer();
  const [text, setText] = useState('');
  const labels = useMemo(() => new Map(options.map(({ value, label }) => [value, label])), [options]);
  const typed = text.trim();
  const choices = useMemo(() => [...new Set([...labels.keys(), ...chosen])], [labels, chosen]);
  const isNew = free === true && typed !== '' && !choices.some((one) => one === typed || labels.get(one) === typed);
  const items = useMemo(() => (isNew ? [...choices, typed] : choices), [choices, isNew, typed]);
  const labelOf = (value: string) => labels.get(value) ?? value;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Combobox.Root
        items={items}
        multiple
        autoHighlight
        value={[...chosen]}
        onValueChange={(next, { reason }) => {
          // Escape closes the list without clearing the field.
          if (reason === 'escape-key') return;
          onChange(next);
          setText('');
        }}
        inputValue={text}
        onInputValueChange={setText}
        itemToStringLabel={labelOf}
      >
        <Combobox.InputGroup className="picker">
          <Combobox.Chips className="contents">
            {chosen.map((one) => (
              <Combobox.Chip key={one} className="chip" aria-label={labelOf(one)}>
                {labelOf(one)}
                <Combobox.ChipRemove className="icon-button" aria-label={`Remove ${labelOf(one)}`}>
                  <X size={12} aria-hidden="true" />
                </Combobox.ChipRemove>
              </Combobox.Chip>
            ))}
            <Combobox.Input id={id} placeholder={chosen.length === 0 ? placeholder : undefined} />
          </Combobox.Chips>
        </Combobox.InputGroup>
        <Combobox.Portal container={layer}>
          <Combobox.Positioner className="popup-place" sideOffset={4} align="start">
            <Combobox.Popup className="popup menu as-wide">
              <Combobox.Empty className="none">{free ? 'Type a name and press Enter.' : 'No results.'}</Combobox.Empty>
              <Combobox.List>
                {(one: string) => (
                  <Combobox.Item key={one} className="item" value={one}>
                    {isNew && one === typed ? `Use “${one}”` : labelOf(one)}
                    {unlisted !== undefined && options.length > 0 && !labels.has(one) ? (
                      <span className="second small">{unlisted}</span>
                    ) : null}
                    <Combobox.ItemIndicator className="end">
                      <Check size={14} aria-hidden="true" />
                    </Combobox.ItemIndicator>
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
      {hint === undefined ? null : <span className="small second">{hint}</span>}
    </div>
  );
}
