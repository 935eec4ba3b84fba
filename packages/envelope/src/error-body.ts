import { type Envelope, envelope } from './envelope';

/** The body of every refusal and fault: a list of texts, empty for a plain "not there". */
export function errorBody(errors: readonly string[]): string {
  return `${JSON.stringify({ errors })}\n`;
}

/** The body of a refusal that says more than its texts: the texts, and the keys of the standard answer. */
export function tellingErrorBody(errors: readonly string[], told: Envelope): string {
  return `{"errors":${JSON.stringify(errors)},${envelope(told).slice(1)}`;
}
