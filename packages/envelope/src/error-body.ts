/** The body of every refusal and fault: a list of texts, empty for a plain "not there", and what goes with it. */
export function errorBody(errors: readonly string[], data?: unknown, warnings?: readonly string[]): string {
  return `${JSON.stringify({ errors, data, warnings })}\n`;
}
