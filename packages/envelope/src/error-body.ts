/** The body of every refusal and fault: a list of texts, empty for a plain "not there". */
export function errorBody(messages: readonly string[], data?: unknown): string {
  return data === undefined
    ? `{"errors":${JSON.stringify(messages)}}\n`
    : `{"errors":${JSON.stringify(messages)},"data":${JSON.stringify(data)}}\n`;
}
