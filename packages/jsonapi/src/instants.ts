import { z } from 'zod';

/** A date or an instant of ISO 8601. Undefined for other text, and outside of the years 1 to 9999 that are stored. */
export function instantIn(text: string): Date | undefined {
  const at = new Date(/^\d{4}-\d\d-\d\d(T|$)/.test(text) ? text : Number.NaN);
  const year = at.getUTCFullYear();
  return year >= 1 && year <= 9999 ? at : undefined;
}

/** An instant with a time and a zone in a body. */
export const sentInstant = (error: string) =>
  z.iso
    .datetime({ offset: true, error })
    .refine((text) => instantIn(text) !== undefined, error)
    .transform((text) => new Date(text));
