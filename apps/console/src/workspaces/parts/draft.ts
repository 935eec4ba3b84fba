import { useState } from 'react';
import { ApiError } from '../../api/api-error';

export interface Draft<T extends object> {
  readonly value: T;
  readonly set: <Name extends keyof T>(name: Name) => (value: T[Name]) => void;
}

/** What a form shows: the stored values overlaid with the changes made here; only the changes are sent. */
export function useDraft<T extends object>(stored: T) {
  const [changes, change] = useState<Partial<T>>({});
  return {
    value: { ...stored, ...changes },
    changes,
    isChanged: Object.keys(changes).length > 0,
    set:
      <Name extends keyof T>(name: Name) =>
      (value: T[Name]) =>
        change((before) => {
          const { [name]: _, ...rest } = before;
          return (value === stored[name] ? rest : { ...before, [name]: value }) as Partial<T>;
        }),
    reset: () => change({}),
  };
}

/** What the service has against one field. */
export function fieldError(error: unknown, field: string): string | undefined {
  return error instanceof ApiError ? error.of(field) : undefined;
}

type Flags<T> = { [Name in keyof T]: T[Name] extends boolean ? Name : never }[keyof T];

/** What the fields of a draft take: the value, what changes it, and what the service has against it. */
export function fieldsOf<T extends object>({ value, set }: Draft<T>, refused: unknown) {
  const field = <Name extends keyof T & string>(name: Name) => ({
    value: value[name],
    onChange: set(name),
    error: fieldError(refused, name),
  });
  const check = <Name extends Flags<T> & string>(name: Name) => {
    const { value, ...rest } = field(name);
    return { ...rest, checked: value as T[Name] & boolean };
  };
  return { field, check };
}

/** A number as typed: null for nothing, NaN (which the service refuses) for what is none. */
export const typedNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));
