import { type Envelope, envelope } from './envelope';

/** The body of every refusal and fault: a list of messages, empty for a plain "not found". */
export function errorBody(errors: readonly string[]): string {
  return `${JSON.stringify({ errors })}\n`;
}

/** The body of a refusal with more than messages: the messages, and the keys of the standard answer. */
export function detailedErrorBody(errors: readonly string[], content: Envelope): string {
  return `{"errors":${JSON.stringify(errors)},${envelope(content).slice(1)}`;
}
