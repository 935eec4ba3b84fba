import { useState } from 'react';
import { ApiError } from '../../api/api-error';

export interface Draft<T extends object> {
  readonly value: T;
  readonly set: <Name extends keyof T>(name: Name) => (value: T[Name]) => void;
}

/** The state of a form: the stored values with the changes made here; only the changes are sent. */
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

/** The service's error for one field. */
export function fieldError(error: unknown, field: string): string | undefined {
  return error instanceof ApiError ? error.of(field) : undefined;
}

type Flags<T> = { [Name in keyof T]: T[Name] extends boolean ? Name : never }[keyof T];

/** The props of a draft's field: its value, its setter and the service's error. */
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

/** Parses a number: null for an empty text, NaN (which the service refuses) for anything else. */
export const typedNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));
