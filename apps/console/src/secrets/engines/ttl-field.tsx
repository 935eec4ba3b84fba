import { type ReactNode, useState } from 'react';
import { SelectField, TextField } from '../../design/field';

/** A duration as the API takes it, with a label. */
export type TtlChoice = readonly [value: string, label: string];

/** A duration: chosen from a list, or typed. */
export function TtlField({
  label,
  choices,
  value,
  onChange,
  hint,
  error,
}: {
  readonly label: string;
  readonly choices: readonly TtlChoice[];
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
}) {
  const [isOther, setOther] = useState(!choices.some(([one]) => one === value));
  const [typed, setTyped] = useState(() => shortOf(value));
  const choose = (next: string) => {
    setOther(next === 'other');
    if (next === 'other') setTyped(shortOf(value));
    else onChange(next);
  };
  return (
    <>
      <SelectField
        label={label}
        value={isOther ? 'other' : value}
        onChange={choose}
        options={[...choices.map(([one, text]) => ({ value: one, label: text })), { value: 'other', label: 'Other…' }]}
        {...(isOther ? {} : { hint, error })}
      />
      {isOther ? (
        <TextField
          label={`${label}, as a duration`}
          required
          value={typed}
          onChange={(text) => {
            setTyped(text);
            onChange(text);
          }}
          placeholder="36h"
          hint={hint ?? 'Such as 90m, 36h or 45d.'}
          error={error}
        />
      ) : null}
    </>
  );
}

const units: ReadonlyMap<string, number> = new Map(Object.entries({ s: 1, m: 60, h: 3600, d: 86_400 }));

/** Parses a duration such as 36h or 1h30m into seconds; undefined if it is invalid. */
export function secondsOf(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(\d+[smhd])+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units.get(unit!)!,
    0,
  );
}

/** Seconds as people type a duration: `172800` is `2d`. Other strings are unchanged. */
function shortOf(text: string): string {
  if (!/^[1-9]\d*$/.test(text)) return text;
  const [unit, size] = [...units].findLast(([, size]) => Number(text) % size === 0)!;
  return `${Number(text) / size}${unit}`;
}

const daySeconds = 86_400;

/** A duration in words: "10 years", "90 days", "36 hours". */
export function spanOf(seconds: number): string {
  const named = [
    [365 * daySeconds, 'year'],
    [daySeconds, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ] as const;
  const [size, name] = named.find(([size]) => seconds >= size && seconds % size === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${count.toLocaleString('en')} ${name}${count === 1 ? '' : 's'}`;
}

/** A maximum or default TTL of a role, in seconds; 0 means the TTL of the mount. */
export const ttlOfRole = (seconds: number | undefined): ReactNode =>
  seconds ? spanOf(seconds) : <span className="second">that of the mount</span>;
