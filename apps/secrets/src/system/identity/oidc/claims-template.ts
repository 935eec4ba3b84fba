import { Refusal } from '@keystead/refusal';
import type { Subject } from '../../../kernel/policy/types';
import { parseDuration } from '../../../sdk/duration';

/** Claims that only the service sets. */
export const reservedClaims = [
  'iat',
  'aud',
  'exp',
  'iss',
  'sub',
  'namespace',
  'nonce',
  'auth_time',
  'at_hash',
  'c_hash',
] as const;

/** The maximum number of characters of the claims of one template: enough for tens of thousands of groups. */
const mostText = 1024 * 1024;
const directive = /\{\{([^{}]*)\}\}/g;
const base64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^[A-Za-z0-9+/]{2,3}={1,2}$/;
const anonymous: Subject = { entity: { id: '', name: '', metadata: {}, aliases: [] }, groups: [] };

/** A template as stored: JSON text with directives; base64 input is decoded. Throws `invalid`. */
export function readTemplate(sent: string): string {
  const template = base64.test(sent) && sent.length % 4 === 0 ? Buffer.from(sent, 'base64').toString('utf8') : sent;
  if (template === '') return '';
  const claims = fillClaims(template, anonymous, 0);
  const reserved = Object.keys(claims).find((name) => (reservedClaims as readonly string[]).includes(name));
  if (reserved !== undefined) {
    invalid(`top level key ${JSON.stringify(reserved)} not allowed. Restricted keys: ${reservedClaims.join(', ')}`);
  }
  return template;
}

/**
 * The claims of a template for an entity. Values are filled in as JSON, so that a name cannot add a claim. Throws
 * `invalid` for text that is not a template, `too-large` for claims that no token could carry.
 */
export function fillClaims(template: string, subject: Subject, nowMs: number): Record<string, unknown> {
  if (template === '') return {};
  if (template.replace(directive, '').includes('{{')) {
    invalid('error parsing template: unbalanced templating characters');
  }
  let length = template.length;
  const text = template.replace(directive, (_all, name: string) => {
    const value = JSON.stringify(resolved(name.trim(), subject, nowMs));
    length += value.length;
    if (length > mostText) throw new Refusal('too-large', 'the claims of the template are too large');
    return value;
  });
  let claims: unknown;
  try {
    claims = JSON.parse(text);
  } catch {
    invalid('error parsing template JSON: the template is not a JSON object (do not put directives in quotes)');
  }
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
    invalid('error parsing template JSON: the template is not a JSON object');
  }
  return claims as Record<string, unknown>;
}

function resolved(name: string, { entity, groups }: Subject, nowMs: number): unknown {
  if (name.startsWith('time.')) return timeOf(name.slice('time.'.length), nowMs);
  const rest = name.startsWith('identity.entity.') ? name.slice('identity.entity.'.length) : undefined;
  if (rest === undefined || !entity) return unknown();
  if (rest === 'id' || rest === 'name') return entity[rest];
  if (rest === 'groups.names') return groups.map((group) => group.name);
  if (rest === 'groups.ids') return groups.map((group) => group.id);
  if (!rest.startsWith('aliases.')) return metadataOf(rest, 'metadata', entity.metadata);
  const [, accessor, of] =
    /^aliases\.([^.]*)\.(.+)$/.exec(rest) ?? invalid('error parsing template: invalid alias selector');
  // For an entity without an alias there, the claim is empty.
  const alias = entity.aliases.find(({ mountAccessor }) => mountAccessor === accessor);
  if (of === 'id' || of === 'name') return alias?.[of] ?? '';
  return of!.startsWith('custom_')
    ? metadataOf(of!, 'custom_metadata', alias?.customMetadata ?? {})
    : metadataOf(of!, 'metadata', alias?.metadata ?? {});
}

/** The whole map, or one of its values; empty if the map has no such name. */
function metadataOf(name: string, prefix: string, metadata: Readonly<Record<string, string>>): unknown {
  if (name === prefix) return metadata;
  if (!name.startsWith(`${prefix}.`)) return unknown();
  const key = name.slice(prefix.length + 1);
  return Object.hasOwn(metadata, key) ? metadata[key] : '';
}

/** `now`, `now.plus.1h`, `now.minus.30s`, in seconds. */
function timeOf(selector: string, nowMs: number): number {
  const now = Math.floor(nowMs / 1000);
  const [base, operator, ...amount] = selector.split('.');
  if (base !== 'now') return invalid(`error parsing template: invalid time selector ${JSON.stringify(base)}`);
  if (operator === undefined) return now;
  if (operator !== 'plus' && operator !== 'minus') {
    return invalid(`error parsing template: invalid time operator ${JSON.stringify(operator)}`);
  }
  const seconds = parseDuration(amount.join('.'));
  if (seconds === undefined) return invalid('error parsing template: missing time operand, or no duration');
  return operator === 'plus' ? now + seconds : now - seconds;
}

const unknown = (): never =>
  invalid('error parsing template: no value could be found for one of the template directives');

function invalid(text: string): never {
  throw new Refusal('invalid', text);
}
