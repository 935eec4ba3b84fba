import { parse } from 'yaml';
import { isObject } from './coerce';

type Labels = Readonly<Record<string, string>>;

const most = 16_384;
const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** A string in JSON or YAML, as an object; undefined for any other string. */
export function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.length > most) return undefined;
  try {
    // Aliases could expand a short text enormously.
    const value: unknown = parse(text, { maxAliasCount: 0, logLevel: 'silent' });
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses a Kubernetes label selector (`matchLabels`, `matchExpressions`) in JSON or YAML. The result checks whether
 * labels match. `wrong` throws with the reason for invalid text.
 */
export function labelSelector(text: string, wrong: (why: string) => never): (labels: Labels) => boolean {
  const {
    matchLabels = {},
    matchExpressions = [],
    ...more
  } = readObject(text) ?? wrong('it must be JSON or YAML such as {"matchLabels": {"team": "a"}}');
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) wrong(`${unknown} is not supported: use matchLabels and matchExpressions`);
  if (!isObject(matchLabels) || !Object.values(matchLabels).every((value) => typeof value === 'string')) {
    wrong('labels must be strings');
  }
  if (!Array.isArray(matchExpressions)) wrong('matchExpressions must be a list');
  const required = Object.entries(matchLabels) as [string, string][];
  const expressions = matchExpressions.map((one) => expression(one, wrong));
  if (required.length + expressions.length === 0) wrong('it must name a label');
  return (labels) =>
    required.every(([label, value]) => labelValue(labels, label) === value) &&
    expressions.every((fits) => fits(labels));
}

const labelValue = (labels: Labels, label: string): string | undefined =>
  Object.hasOwn(labels, label) ? labels[label] : undefined;

function expression(one: unknown, wrong: (why: string) => never): (labels: Labels) => boolean {
  const { key, operator, values = [] } = Object(one) as Readonly<Record<string, unknown>>;
  if (typeof key !== 'string' || key === '') return wrong('each of matchExpressions needs a key');
  if (!operators.includes(String(operator))) return wrong(`operator must be one of ${operators.join(', ')}`);
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string')) {
    return wrong('values must be a list of strings');
  }
  const byValue = operator === 'In' || operator === 'NotIn';
  if (byValue !== values.length > 0)
    return wrong(`values ${byValue ? 'are needed' : 'make no sense'} with ${operator}`);
  return (labels) => {
    const value = labelValue(labels, key);
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const among = value !== undefined && values.includes(value);
    return operator === 'In' ? among : !among;
  };
}
