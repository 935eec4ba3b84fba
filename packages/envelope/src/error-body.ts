import { type Envelope, envelope } from './envelope';

/** The body of every refusal and fault: a list of messages, empty for a plain "not found". */
export function errorBody(errors: readonly string[]): string {
  return `${JSON.stringify({ errors })}\n`;
}

/** The body of a refusal that contains more than messages: the messages, and the keys of the standard response. */
export function detailedErrorBody(errors: readonly string[], content: Envelope): string {
  return `{"errors":${JSON.stringify(errors)},${envelope(content).slice(1)}`;
}
