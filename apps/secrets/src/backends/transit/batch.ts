import { isRefusal } from '@keystead/refusal';
import { Failure, isObject, maxElements, toObjects, tooManyElements } from '../../sdk/coerce';
import { field, int } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';
import { type DataReply, data } from '../../sdk/reply';

const textNames = [
  'plaintext',
  'ciphertext',
  'context',
  'associated_data',
  'input',
  'signature',
  'hmac',
  'reference',
] as const;

/** An item of a batch, or the request itself as one item. */
export type Item = { readonly [N in (typeof textNames)[number]]?: string } & { readonly key_version?: number };

/** The items of a batch. Error messages never quote their values, which are secret. */
export const batch = () =>
  field<Record<string, unknown>[]>(
    { type: 'array', items: { type: 'object' }, maxItems: maxElements },
    (value) => {
      if (typeof value === 'string')
        return new Failure(`${unread}source data must be an array or slice, got string`, true);
      const many = tooManyElements(value);
      if (many) return many;
      const objects = toObjects(value);
      return objects instanceof Failure ? new Failure(unread + objects.message, true) : objects;
    },
    true,
    { several: true },
  )
    .optional()
    .describe('Items of a batch. The fields for single requests are then ignored.');

const unread = 'failed to parse batch input: ';
const longestProblems = 10;

function readItem(item: Readonly<Record<string, unknown>>, at: number, problems: string[]): Item {
  const read: Record<string, unknown> = {};
  for (const name of textNames) {
    const value = item[name];
    if (typeof value === 'string') read[name] = value;
    else if (value != null) {
      problems.push(`'[${at}].${name}' expected type 'string', got unconvertible type '${goKind(value)}'`);
    }
  }
  if (item.key_version != null) {
    const number = Number(item.key_version);
    if (typeof item.key_version === 'number' && Number.isSafeInteger(number)) read.key_version = number;
    else {
      problems.push(`'[${at}].key_version' expected type 'int', got unconvertible type '${goKind(item.key_version)}'`);
    }
  }
  return read;
}

function goKind(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (value === null) return '<nil>';
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'bool' : 'json.Number';
}

/** Status for a batch in which some items failed. */
export const partialFailureCode = int()
  .optional()
  .describe('HTTP status of the response if some items fail and others succeed; 400 by default.');

/** Response statuses of batches. */
export const partialFailureResponses = {
  207: 'Some items of a batch failed, and partial_failure_response_code requests this status.',
  400: 'The request was refused, or items of a batch failed. In the second case, each failed item has an error.',
};

/** Refuses a batch in which only some of the items have a context. */
export function checkContexts(items: readonly Item[]): void {
  const first = Boolean(items[0]?.context);
  if (items.some(({ context }) => Boolean(context) !== first)) {
    refuse('context should be set either in all the request blocks or in none');
  }
}

/** A batch yields to other requests after this time. */
const turnMs = 5;

type Result = Readonly<Record<string, unknown>>;

/** The items of a request; `required` names the fields each batch item must have. */
export function itemsOf(
  several: readonly Readonly<Record<string, unknown>>[] | undefined,
  single: Item,
  required?: keyof Item,
): readonly Item[] {
  if (!several) return [single];
  if (several.length === 0) refuse('missing batch input to process');
  const problems: string[] = [];
  const items = several.map((item, at) => {
    if (required && item[required] == null)
      problems.push(`'[${at}].${required}' missing ${required} to ${required === 'plaintext' ? 'encrypt' : 'decrypt'}`);
    return readItem(item, at, problems);
  });
  return problems.length === 0 ? items : refuse(unread + problems.slice(0, longestProblems).join('\n'));
}

/**
 * Processes the items in order. A batch returns the result or error of each item, and adds `failed` to items with
 * errors. If the request is a single item that fails, the request is refused.
 */
export async function workOn(
  several: readonly object[] | undefined,
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<Result> | Result,
  failed: Result = {},
): Promise<{ reply: DataReply; failures: number }> {
  if (!several) return { reply: data(await work(items[0]!, 0)), failures: 0 };
  const results: Result[] = [];
  let failures = 0;
  let turnEnds = performance.now() + turnMs;
  for (const [at, item] of items.entries()) {
    const { reference = '' } = item;
    try {
      const result = work(item, at);
      results.push({ ...(result instanceof Promise ? await result : result), reference });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      failures += 1;
      results.push({ ...failed, error: error.message, reference });
    }
    if (performance.now() < turnEnds) continue;
    await new Promise((resume) => setImmediate(resume));
    turnEnds = performance.now() + turnMs;
  }
  return { reply: data({ batch_results: results }), failures };
}

/** Like workOn, for encryption, where failed items determine the response status. */
export async function workOnAll(
  call: {
    readonly input: { readonly batch_input?: readonly object[]; readonly partial_failure_response_code?: number };
    warn(text: string): void;
  },
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<Result> | Result,
  failed?: Result,
): Promise<DataReply> {
  const { batch_input, partial_failure_response_code: code } = call.input;
  const { reply, failures } = await workOn(batch_input, items, work, failed);
  if (failures === 0) return reply;
  if (code === undefined || failures === items.length) return { ...reply, status: 400 };
  if (code >= 200 && code <= 599) return { ...reply, status: code };
  call.warn('invalid HTTP response code override from partial_failure_response_code, reverting to 400');
  return { ...reply, status: 400 };
}
