import { decimalValue, ExactNumber, parseExact } from '@keystead/envelope';

/** No id has more digits. */
const mostDigits = 64;

/**
 * A JSON value in which only equal numbers have the same text. A number becomes a double if that is exact. Other whole
 * numbers keep all their digits. All other fractions stay `ExactNumber`, which is equal to no other value.
 */
export function comparable(value: unknown): unknown {
  if (value instanceof ExactNumber) return numberOf(value);
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, comparable(item)]));
}

/** Parses claims. Ids with more digits than a double can represent stay distinct. */
export const parseClaims = (text: string): unknown => comparable(parseExact(text));

function numberOf(exact: ExactNumber): number | bigint | ExactNumber {
  const decimal = decimalValue(exact.digits);
  const double = Number(exact.digits);
  if (decimalValue(String(double)) === decimal) return double;
  const [digits = '', exponent = '0'] = decimal.split('e');
  const zeros = Number(exponent);
  return zeros >= 0 && zeros + digits.length <= mostDigits ? BigInt(digits + '0'.repeat(zeros)) : exact;
}
