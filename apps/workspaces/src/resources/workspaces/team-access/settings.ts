import { invalidAll } from '@keystead/jsonapi';
import { z } from 'zod';
import { type Dial, dialValue, type Mask } from '../../../kernel/access/capabilities';

/** The values of some settings, by their names in the service. */
export type DialValues<D extends Record<string, Dial>> = Record<keyof D, string | boolean>;

/** The values of some settings in a request. Absent and null values leave a setting unchanged. */
export type SentDials<D extends Record<string, Dial>> = { readonly [K in keyof D]?: string | boolean | null };

/** The shown form of a setting. */
export const shownDial = ({ values }: Dial) =>
  z
    .custom<string | boolean>()
    .meta(values.includes(true) ? { type: 'boolean' } : { type: 'string', enum: [...values] });

/** The values of settings in a mask. */
export function settingsOf<D extends Record<string, Dial>>(dials: D, mask: Mask): DialValues<D> {
  return Object.fromEntries(
    Object.entries(dials).map(([name, dial]) => [name, dialValue(dial, mask)]),
  ) as DialValues<D>;
}

/**
 * The settings after a request. Only the `custom` level allows arbitrary values; other levels accept only their own
 * values. Throws `invalid` with one issue, below `at`, for each attribute that has another value.
 */
export function settled<D extends Record<string, Dial>>(
  access: string,
  base: DialValues<D>,
  sent: SentDials<D>,
  at: readonly string[] = [],
): DialValues<D> {
  const entries = Object.entries(sent).filter(([, value]) => value !== undefined && value !== null);
  if (access !== 'custom') {
    const refused = entries.filter(([name, value]) => base[name] !== value);
    if (refused.length > 0) {
      const message = `is read-only when access level is '${access}'; use the 'custom' access level to set this attribute.`;
      throw invalidAll(refused.map(([name]) => ({ path: [...at, name], message })));
    }
  }
  return { ...base, ...Object.fromEntries(entries) } as DialValues<D>;
}
