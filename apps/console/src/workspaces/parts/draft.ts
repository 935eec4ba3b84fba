import { useState } from 'react';
import { ApiError } from '../../api/api-error';

/** What a form shows: the stored values with what was changed here, which alone is sent. */
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

/** A number as typed: null for nothing, NaN (which the service refuses) for what is none. */
export const typedNumber = (text: string): number | null => (text.trim() === '' ? null : Number(text));
