import { Refusal } from '@keystead/refusal';

/** The labels that a selector asks for. Throws `invalid` for anything but `matchLabels`. */
export function selectorLabels(selector: string): Readonly<Record<string, string>> {
  let read: unknown;
  try {
    read = JSON.parse(selector);
  } catch {
    throw wrong('it must be JSON such as {"matchLabels": {"team": "a"}}');
  }
  const { matchLabels, ...more } = Object(read) as { matchLabels?: unknown };
  if (Object.keys(more).length > 0) throw wrong(`${Object.keys(more)[0]} is not supported: use matchLabels`);
  const labels = Object.entries(Object(matchLabels) as object);
  if (labels.length === 0) throw wrong('matchLabels must name a label');
  if (!labels.every(([, value]) => typeof value === 'string')) throw wrong('labels must be texts');
  return Object.fromEntries(labels);
}

function wrong(why: string): Refusal {
  return new Refusal('invalid', `invalid "bound_service_account_namespace_selector" configured: ${why}`);
}
