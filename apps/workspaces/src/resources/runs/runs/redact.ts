import { ExactNumber } from '@keystead/envelope';

/** The replacement of a sensitive value. */
export const hidden = 'REDACTED';

/** Whether a JSON value has no parts. */
export const isScalar = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || value instanceof ExactNumber;

/**
 * A value without its sensitive parts. `mask` has the same shape, with true for sensitive parts. `onHidden` receives the
 * hidden values.
 */
export function redact(value: unknown, mask: unknown, onHidden?: (part: unknown) => void): unknown {
  if (mask === true) {
    onHidden?.(value);
    return value === null || value === undefined ? value : hidden;
  }
  if (typeof mask !== 'object' || mask === null || isScalar(value)) return value;
  if (Array.isArray(value)) return value.map((item, index) => redact(item, (mask as unknown[])[index], onHidden));
  const masks = mask as Record<string, unknown>;
  const of = (key: string) => (Object.hasOwn(masks, key) ? masks[key] : undefined);
  return Object.fromEntries(
    Object.entries(value as object).map(([key, item]) => [key, redact(item, of(key), onHidden)]),
  );
}
