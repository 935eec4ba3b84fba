import { plainNumbers } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { fieldProblem, jsonKind, shown } from '../sdk/coerce';
import { fieldMeta } from '../sdk/parameter-reading';
import type { AnyOperation } from '../sdk/path';

/** The compiled schema of an operation. */
interface Compiled {
  readonly schema: z.ZodObject;
  /** Keys that a merged record must have. */
  readonly required: readonly string[];
  readonly fieldNames: ReadonlySet<string>;
  /** Stored secrets, each with the fields that decide where it is sent. */
  readonly sent: readonly (readonly [secret: string, targets: readonly string[]])[];
}

type InputFields = Readonly<Record<string, unknown>>;

/** The schemas of operations, compiled when first used. */
export class InputParsers {
  private readonly compiled = new WeakMap<AnyOperation, Compiled>();

  constructor(private readonly rules: { readonly refusesUnknown: boolean }) {}

  /**
   * Parses the fields of a request, without unknown fields. Null empties a list or a map and resets a single value to
   * its default (Decision 0011). With `update`, the fields are merged into the stored record, or into the defaults.
   * Throws `invalid` with the text that clients expect.
   */
  parse(operation: AnyOperation, fields: InputFields, exact: boolean, stored: unknown): InputFields {
    const { schema, required, sent } = this.of(operation);
    const values: Record<string, unknown> = {};
    const reset: string[] = [];
    for (const key of Object.keys(schema.shape)) {
      if (!Object.hasOwn(fields, key)) continue;
      const value = fields[key];
      if (value === undefined) continue;
      if (value === null) {
        const { empty, json } = fieldMeta(operation.input!.shape[key]!);
        // Endpoints with bare bodies decode the body as a whole. For them, null is the same as an absent field.
        if (empty !== undefined && !operation.decodedInto) values[key] = empty;
        else if (json.format !== 'duration') reset.push(key);
        continue;
      }
      if (operation.decodedInto) requireType(operation.decodedInto, key, value, operation.input!.shape[key]!);
      values[key] = value;
    }
    const result = schema.safeParse(values);
    if (!result.success) throw invalid(result.error.issues, values);
    const data = exact && !operation.freeform ? this.withPlainNumbers(operation, result.data) : result.data;
    if (!operation.update) return data;
    const merged = merge(operation, data, stored, reset);
    for (const key of required) {
      if (merged[key] === undefined) throw new Refusal('invalid', `missing required field "${key}"`);
    }
    const shape = operation.input?.shape ?? {};
    if (operation.update === 'merge') for (const rule of sent) requireSentAgain(rule, data, merged, stored, shape);
    return merged;
  }

  /** The sorted names of fields that an operation does not know. Parameters of its path are treated as known. */
  unknown(operation: AnyOperation, fields: InputFields, params: Readonly<Record<string, string>>): string[] {
    if (operation.freeform) return [];
    const { fieldNames } = this.of(operation);
    return Object.keys(fields)
      .filter((key) => !fieldNames.has(key) && !Object.hasOwn(params, key))
      .sort();
  }

  /** Throws `invalid` for fields that an operation does not know, if the installation is set to refuse them. */
  requireKnown(operation: AnyOperation, fields: InputFields, params: Readonly<Record<string, string>>): void {
    if (!this.rules.refusesUnknown) return;
    const unknown = this.unknown(operation, fields, params);
    if (unknown.length === 0) return;
    const details = unknown.map((key) => ({ path: [key], message: 'unrecognized' }));
    throw new Refusal('invalid', `unrecognized parameters: [${unknown.join(' ')}]`, details);
  }

  /** The warnings about fields that were sent but not read. */
  warnings(operation: AnyOperation, fields: InputFields, params: Readonly<Record<string, string>>): string[] {
    if (operation.freeform) return [];
    const unread = this.unknown(operation, fields, params);
    const replaced = Object.keys(fields).filter((key) => Object.hasOwn(params, key));
    const warnings: string[] = [];
    if (unread.length > 0) warnings.push(`Endpoint ignored these unrecognized parameters: [${unread.join(' ')}]`);
    if (replaced.length > 0) {
      warnings.push(
        `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.sort().join(' ')}]`,
      );
    }
    return warnings;
  }

  /** The names of the fields that an operation reads; undefined if it stores all fields as they are. */
  declared(operation: AnyOperation): ReadonlySet<string> | undefined {
    return operation.freeform ? undefined : this.of(operation).fieldNames;
  }

  /**
   * Fields parse scalars with the digits that were sent. Numbers inside objects become plain numbers unless the field
   * is declared exact.
   */
  private withPlainNumbers(operation: AnyOperation, read: InputFields): InputFields {
    const isExact = (key: string) => fieldMeta(operation.input!.shape[key]!).exact === true;
    return Object.fromEntries(
      Object.entries(read).map(([key, value]) => [key, isExact(key) ? value : plainNumbers(value)]),
    );
  }

  private of(operation: AnyOperation): Compiled {
    let compiled = this.compiled.get(operation);
    if (!compiled) {
      const input = operation.input ?? z.object({});
      compiled = {
        schema: operation.update ? input.partial() : input,
        required: operation.update
          ? Object.entries(input.shape).flatMap(([key, field]) => (isOptional(field as z.ZodType) ? [] : [key]))
          : [],
        fieldNames: new Set(Object.keys(input.shape)),
        sent: Object.entries(input.shape).map(
          ([key, field]) => [key, fieldMeta(field as z.ZodType).sentTo ?? []] as const,
        ),
      };
      this.compiled.set(operation, compiled);
    }
    return compiled;
  }
}

const decodedTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: 'string',
    integer: 'int',
    boolean: 'bool',
    array: '[]string',
  }),
);

/** Refuses a value that does not have the field's JSON type, with the message of a strict decoder. */
function requireType(name: string, key: string, value: unknown, field: z.ZodType): void {
  const { json } = fieldMeta(field);
  const decodedType = decodedTypes.get(String(json.type))!;
  const wrong = wrongPart(value, decodedType);
  if (!wrong) return;
  const text = `json: cannot unmarshal ${wrong.kind} into Go struct field ${name}.${key} of type ${wrong.expectedType}`;
  throw new Refusal('malformed', `failed to decode JSON input: ${text}`);
}

function wrongPart(value: unknown, expectedType: string): { kind: string; expectedType: string } | undefined {
  const kind = jsonKind(value);
  if (expectedType === '[]string' && Array.isArray(value)) {
    for (const item of value) {
      const wrong = item === null ? undefined : wrongPart(item, 'string');
      if (wrong) return wrong;
    }
    return undefined;
  }
  if (expectedType === 'int' && kind === 'number') {
    return Number.isSafeInteger(value) ? undefined : { kind: `number ${String(value)}`, expectedType };
  }
  if (expectedType !== 'int' && kind.startsWith('number')) return { kind: 'number', expectedType };
  return kind === expectedType ? undefined : { kind, expectedType };
}

/** Refuses to send a stored secret to another address unless the caller sends the secret again. */
function requireSentAgain(
  [secret, targets]: Compiled['sent'][number],
  fields: InputFields,
  merged: InputFields,
  stored: unknown,
  shape: Readonly<Record<string, unknown>>,
): void {
  const before = (stored ?? {}) as InputFields;
  if (secret in fields || !before[secret]) return;
  const textOf = (value: unknown, target: string) => {
    const text = JSON.stringify(value);
    return fieldMeta(shape[target] as z.ZodType).anyCase ? text?.toLowerCase() : text;
  };
  const changed = targets.find((target) => textOf(before[target], target) !== textOf(merged[target], target));
  if (changed === undefined) return;
  const text = `${secret}: must be sent again with another ${changed}, which decides where it is sent`;
  throw new Refusal('invalid', text, [{ path: [secret], message: 'must be sent again' }]);
}

function isOptional(field: z.ZodType): boolean {
  return field instanceof z.ZodOptional || field instanceof z.ZodDefault;
}

function merge(
  operation: AnyOperation,
  fields: InputFields,
  stored: unknown,
  reset: readonly string[],
): Record<string, unknown> {
  const defaults = operation.defaults as InputFields | undefined;
  if (operation.update === 'replace' || stored === undefined) return { ...defaults, ...fields };
  const base: Record<string, unknown> = { ...defaults, ...(stored as InputFields) };
  for (const key of [...(operation.resets ?? []), ...reset]) {
    if (defaults && key in defaults) base[key] = defaults[key];
    else delete base[key];
  }
  return { ...base, ...fields };
}

function invalid(issues: readonly z.core.$ZodIssue[], fields: InputFields): Refusal {
  const details = issues.map((issue) => ({ path: issue.path as (string | number)[], message: issue.message }));
  const issue = issues[0]!;
  const field = String(issue.path[0] ?? '');
  const params = (issue as { params?: { missing?: boolean; whole?: boolean; hidden?: boolean } }).params;
  if (params?.whole) return new Refusal('invalid', issue.message, details);
  if (params?.missing || !Object.hasOwn(fields, field)) {
    return new Refusal('invalid', `missing required field "${field}"`, details);
  }
  const input = params?.hidden ? '[hidden]' : shown(fields[field]);
  return new Refusal('invalid', fieldProblem(field, input, issue.message), details);
}
