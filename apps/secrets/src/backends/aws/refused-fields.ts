import { Refusal } from '@keystead/refusal';

/** Refuses fields by name of what is not built, where they say something. */
export function refuseFields(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const hasValue = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (hasValue) throw new Refusal('invalid', `${name} is not supported: leave it out`);
  }
}
