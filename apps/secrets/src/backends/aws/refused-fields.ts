import { Refusal } from '@keystead/refusal';

/** Refuses fields of features that are not built, if they are set. */
export function refuseFields(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const hasValue = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (hasValue) throw new Refusal('invalid', `${name} is not supported: leave it out`);
  }
}
