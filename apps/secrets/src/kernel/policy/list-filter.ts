/** Makes the path that decides whether a listed key is shown. */
export type ListFilter = (path: string, key: string) => string;

/**
 * Compiles a list filter: text with `{{ .path }}` and `{{ .key }}`, each optionally piped through
 * `replace "from" "to"` or `trim_suffix "x"`. Undefined when the text is no such template.
 */
export function parseListFilter(template: string): ListFilter | undefined {
  const parts: ListFilter[] = [];
  for (const [index, piece] of template.split('{{').entries()) {
    if (index === 0) {
      if (piece.includes('}}')) return undefined;
      parts.push(() => piece);
      continue;
    }
    const [expression, literal, ...rest] = piece.split('}}');
    const part = literal === undefined || rest.length > 0 ? undefined : parseExpression(expression!);
    if (!part) return undefined;
    parts.push(part, () => literal!);
  }
  return (path, key) => parts.map((part) => part(path, key)).join('');
}

function parseExpression(expression: string): ListFilter | undefined {
  const [source, ...pipes] = expression.split('|').map((step) => step.trim());
  if (source !== '.path' && source !== '.key') return undefined;
  const steps = pipes.map(parsePipe);
  if (steps.includes(undefined)) return undefined;
  return (path, key) => steps.reduce((value, step) => step!(value), source === '.path' ? path : key);
}

function parsePipe(pipe: string): ((value: string) => string) | undefined {
  const found = /^(replace|trim_suffix|trim_prefix) "([^"]*)"(?: "([^"]*)")?$/.exec(pipe);
  if (!found) return undefined;
  const [, name, first, second] = found as unknown as [string, string, string, string | undefined];
  if ((name === 'replace') !== (second !== undefined) || first === '') return undefined;
  if (name === 'replace') return (value) => value.split(first).join(second!);
  if (name === 'trim_suffix') return (value) => (value.endsWith(first) ? value.slice(0, -first.length) : value);
  return (value) => (value.startsWith(first) ? value.slice(first.length) : value);
}
