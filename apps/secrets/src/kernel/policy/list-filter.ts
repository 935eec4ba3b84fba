/**
 * Builds the path that decides whether a listed key is shown; undefined if it is longer than any request could have.
 */
export type ListFilter = (path: string, key: string) => string | undefined;

type FilterStep = (value: string) => string | undefined;

/** The limits on a template's length and pipe steps. A template runs for every key of a listing. */
const longestTemplate = 4096;
const mostSteps = 16;
/** The maximum length of the text after any step. */
const longestText = 4096;

/**
 * Compiles a list filter: text with `{{ .path }}` and `{{ .key }}`, each optionally piped through `replace "from" "to"`
 * or `trim_suffix "x"`. Undefined if the text is not a valid template.
 */
export function parseListFilter(template: string): ListFilter | undefined {
  if (template.length > longestTemplate) return undefined;
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
  return (path, key) => {
    let text = '';
    for (const part of parts) {
      const partText = part(path, key);
      if (partText === undefined || text.length + partText.length > longestText) return undefined;
      text += partText;
    }
    return text;
  };
}

function parseExpression(expression: string): ListFilter | undefined {
  const [source, ...pipes] = expression.split('|').map((step) => step.trim());
  if (source !== '.path' && source !== '.key') return undefined;
  if (pipes.length > mostSteps) return undefined;
  const steps = pipes.map(parsePipe);
  if (steps.includes(undefined)) return undefined;
  return (path, key) => {
    let value: string | undefined = source === '.path' ? path : key;
    for (const step of steps) if (value !== undefined) value = step!(value);
    return value;
  };
}

function parsePipe(pipe: string): FilterStep | undefined {
  const found = /^(replace|trim_suffix|trim_prefix) "([^"]*)"(?: "([^"]*)")?$/.exec(pipe);
  if (!found) return undefined;
  const [, name, first, second] = found as unknown as [string, string, string, string | undefined];
  if ((name === 'replace') !== (second !== undefined) || first === '') return undefined;
  if (name === 'replace') return (value) => replaced(value, first, second!);
  if (name === 'trim_suffix') return (value) => (value.endsWith(first) ? value.slice(0, -first.length) : value);
  return (value) => (value.startsWith(first) ? value.slice(first.length) : value);
}

/** Replaces text in a value; undefined if the result would be too long. */
function replaced(value: string, from: string, to: string): string | undefined {
  const pieces = value.split(from);
  const length = value.length + (pieces.length - 1) * (to.length - from.length);
  return length > longestText ? undefined : pieces.join(to);
}
