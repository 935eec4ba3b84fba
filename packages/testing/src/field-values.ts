import { generateKeyPairSync } from 'node:crypto';
import { testCertificate } from './certificate';

/** The parts of a field's JSON schema that are used. */
export interface FieldSchema {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly FieldSchema[];
  readonly minimum?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
}

let patches = 0;

/** Strings in the formats that fields have. */
const texts = (fresh: () => string): string[] => [
  fresh(),
  `${fresh()}@example.com`,
  `https://${fresh()}.example/x`,
  new Date(Date.now() + 30 * 86_400_000).toISOString(),
  '12h',
  '30m',
  '1d',
  '127.0.0.1/32',
  '~> 1.5.0',
  `8.8.${++patches}`,
  'arn:aws:iam::123456789012:role/x',
  testCertificate.cert,
  publicKey,
];
const publicKey = String(
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' }),
);

/** Values that a field's schema allows, in the order to try them; `fresh` returns unique strings. */
export function valuesOf(schema: FieldSchema, fresh: () => string): unknown[] {
  if (schema.anyOf) {
    return schema.anyOf.flatMap((each) => valuesOf(each, fresh)).sort((value) => (value === '' ? 1 : -1));
  }
  if (schema.enum) return [...schema.enum].reverse();
  const minimum = schema.minimum ?? 0;
  switch (schema.type) {
    case 'boolean':
      return [true, false];
    case 'integer':
    case 'number':
      return [Math.max(7, minimum), minimum + 1, 3600];
    case 'array':
      return valuesOf(schema.items ?? { type: 'string' }, fresh).map((value) => [value]);
    case 'object':
      return [{ [fresh()]: 'x' }];
    default:
      return schema.format === 'duration' ? ['1h', '30m', '2h', '48h'] : texts(fresh);
  }
}

/** A value that a field's schema refuses; undefined if the schema allows every value. */
export function wrongValueOf({ type, enum: choices, anyOf }: FieldSchema): unknown {
  if (choices) return 'none of these';
  if (anyOf) return { none: 'of these' };
  switch (type) {
    case 'boolean':
      return 'perhaps';
    case 'integer':
    case 'number':
      return 'many';
    case 'array':
      return 7;
    case 'object':
      return 'a text';
    case 'string':
      return { no: 'text' };
    default:
      return undefined;
  }
}
