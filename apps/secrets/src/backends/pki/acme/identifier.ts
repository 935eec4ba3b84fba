import { isIP } from 'node:net';
import { isObject } from '../../../sdk/coerce';
import { readAddress } from '../alternative-names';
import { requestedNames } from '../requested-names';
import type { Role } from '../role';
import { AcmeProblem, asProblem, fail, problemText } from './problem';

/** A name in an order (RFC 8555, 9.7.7). */
export interface Identifier {
  readonly type: 'dns' | 'ip';
  /** Canonical form, without a leading `*.`. */
  readonly value: string;
  readonly wildcard: boolean;
}

const mostIdentifiers = 100;
const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?$/;

/** Reads the names of an order. Throws a problem if there are none or too many, or if one of them is not a name. */
export async function readIdentifiers(sent: unknown): Promise<readonly Identifier[]> {
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > mostIdentifiers) {
    return fail('malformed', `identifiers: between 1 and ${mostIdentifiers}`);
  }
  const all = await Promise.all(sent.map(readIdentifier));
  const texts = new Set(all.map(textOf));
  if (texts.size !== all.length) fail('malformed', 'identifiers: one occurs twice');
  return all;
}

async function readIdentifier(sent: unknown): Promise<Identifier> {
  const { type, value, ...more } = isObject(sent) ? sent : {};
  if (typeof type !== 'string' || typeof value !== 'string') return fail('malformed', 'identifiers: type and value');
  if (Object.keys(more).length > 0) return fail('malformed', 'identifiers: only type and value');
  if (type === 'ip') {
    const address = await asProblem('malformed', () => readAddress(value));
    return { type, value: address, wildcard: false };
  }
  if (type !== 'dns') return fail('unsupportedIdentifier', `identifiers: ${type.slice(0, 40)} is not supported`);
  const wildcard = value.startsWith('*.');
  const name = (wildcard ? value.slice(2) : value).toLowerCase();
  const labels = name.split('.');
  if (
    name.length > 253 ||
    !labels.every((one) => label.test(one)) ||
    isIP(name) !== 0 ||
    /^\d+$/.test(labels.at(-1)!)
  ) {
    return fail('rejectedIdentifier', `${JSON.stringify(value.slice(0, 260))} is not the name of a host`);
  }
  return { type, value: name, wildcard };
}

/** The name as written in certificates. */
export const textOf = ({ value, wildcard }: Identifier): string => (wildcard ? `*.${value}` : value);

/** The names by type, as roles check them. */
export const namesOf = (identifiers: readonly Identifier[]) => ({
  alt_names: identifiers.filter(({ type }) => type === 'dns').map(textOf),
  ip_sans: identifiers.filter(({ type }) => type === 'ip').map(textOf),
});

/** Throws `rejectedIdentifier` with the first name that the role does not allow. */
export function judgeIdentifiers(role: Role, identifiers: readonly Identifier[]): void {
  const refused = identifiers.flatMap((identifier) => {
    try {
      requestedNames({ ...role, require_cn: false }, namesOf([identifier]), undefined, () => {});
      return [];
    } catch (error) {
      const shown = { type: identifier.type, value: textOf(identifier) };
      return [{ ...problemText('rejectedIdentifier', (error as Error).message), identifier: shown }];
    }
  });
  const [first] = refused;
  if (first) throw new AcmeProblem('rejectedIdentifier', first.detail, {}, refused.length > 1 ? refused : []);
}
