import * as fc from 'fast-check';

/** One generated request; `path` is below the mount, without its prefix. */
export interface GeneratedRequest {
  readonly operation: 'read' | 'write' | 'delete' | 'list' | 'patch';
  readonly path: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly wrap: string | undefined;
}

/** Policies for one token, and its requests. */
export interface GeneratedCase {
  readonly policies: readonly string[];
  /** Whether the token belongs to the entity that templates can name. */
  readonly person: boolean;
  readonly requests: readonly GeneratedRequest[];
}

type Lists = Readonly<Record<string, readonly unknown[]>>;

/** Keys that exist before each case, below the mount. */
export const existingKeys = ['a', 'b', 'a/b', 'b/a', 'ab/c', 'a/b/c', 'a/a/b'];

const segment = fc.constantFrom('a', 'b', 'c', 'ab', 'a-b', 'B', 'eve', 'red');
const requestPath = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('/'))
  .chain((free) => fc.constantFrom(free, free, ...existingKeys));

/** `MOUNT` becomes the mount's path and `ACCESSOR` the accessor of the mount of the entity's alias. */
const template = fc.constantFrom(
  '{{identity.entity.name}}',
  '{{identity.entity.metadata.team}}',
  '{{identity.entity.metadata.none}}',
  '{{identity.entity.aliases.ACCESSOR.name}}',
  '{{identity.groups.names.crew.name}}',
  '{{identity.groups.names.strangers.name}}',
);
const patternSegment = fc.oneof(
  { weight: 6, arbitrary: segment },
  { weight: 3, arbitrary: fc.constant('+') },
  { weight: 1, arbitrary: template },
  { weight: 1, arbitrary: fc.constantFrom('', 'a*', '+a', 'a+', '*a') },
);
const pattern = fc
  .tuple(
    fc.constantFrom('MOUNT/', 'MOUNT/', 'MOUNT/', 'MOUNT/', '+/', '/MOUNT/', '', 'MOUNT'),
    fc.array(patternSegment, { minLength: 0, maxLength: 3 }),
    fc.constantFrom('', '', '', '*', '*', '/*', '/', '+', 'a*'),
  )
  .map(([prefix, segments, end]) => `${prefix}${segments.join('/')}${end}`);

const capability = fc.constantFrom('create', 'read', 'update', 'delete', 'list', 'patch', 'sudo');
const capabilities = fc.oneof(
  { weight: 6, arbitrary: fc.uniqueArray(capability, { minLength: 1, maxLength: 6 }) },
  { weight: 9, arbitrary: fc.constant(['create', 'read', 'update', 'delete', 'list', 'patch']) },
  { weight: 1, arbitrary: fc.constant(['deny']) },
  { weight: 1, arbitrary: fc.constant(['read', 'deny']) },
  { weight: 1, arbitrary: fc.constant([]) },
);

const parameterName = fc.constantFrom('x', 'y', 'X', 'ttl', 'long_name');
const text = fc.constantFrom('v', 'vv', 'w', '', 'v*', '1', 'true');
const plainValue = fc.constantFrom<unknown>('v', 'vv', 'w', '', 'v*', '1', 'true', 1, 2, 1.5, 0, true, false);
const sentValue = fc.oneof(
  { weight: 8, arbitrary: plainValue },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, [], ['v'], ['v', 'w'], [1], {}, { k: 'v' }, [['v']]) },
);
const listedValue = fc.oneof(
  { weight: 6, arbitrary: fc.oneof(text, text, fc.boolean()) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>('*', '*v', 'v*', '*v*', '**') },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(['v'], ['v', 'w']) },
);
/** Each parameter in one spelling: of two spellings the reference picks one at random. */
const lists: fc.Arbitrary<Lists> = fc
  .uniqueArray(
    fc.tuple(
      fc.oneof(parameterName, parameterName, parameterName, fc.constant('*')),
      fc.array(listedValue, { maxLength: 3 }),
    ),
    { maxLength: 3, selector: ([name]) => name.toLowerCase() },
  )
  .map((entries) => Object.fromEntries(entries));
/** A lone `*` denies every value here, and the text `*` there. */
const deniedLists = lists.map((entries) =>
  Object.fromEntries(Object.entries(entries).map(([name, values]) => [name, values.filter((value) => value !== '*')])),
);
const sometimes = <T>(weight: number, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 10 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary });

const seconds = fc.constantFrom<string | number>('10s', 10, '60', 60, '1m', '5m', 0, '0s');

const freeBlock = fc.record({
  pattern,
  capabilities,
  legacy: sometimes(1, fc.constantFrom('read', 'write', 'deny', 'sudo')),
  allowed: sometimes(2, lists),
  denied: sometimes(2, deniedLists),
  required: sometimes(1, fc.uniqueArray(fc.oneof(parameterName, fc.constant('limit')), { maxLength: 2 })),
  min: sometimes(1, seconds),
  max: sometimes(1, seconds),
  limit: sometimes(1, fc.integer({ min: 0, max: 3 })),
  expiration: sometimes(1, fc.constantFrom('2001-02-03T04:05:06Z', '2101-02-03T04:05:06Z')),
});
type Block = typeof freeBlock extends fc.Arbitrary<infer T> ? T : never;

/** The reference does not check bounds of denying blocks, expired blocks, or `+*` in templates; we do. */
const block = freeBlock.map((one) => {
  const expired = one.expiration?.startsWith('2001') ?? false;
  const denies = (one.capabilities as readonly string[]).includes('deny') || one.legacy === 'deny';
  const pattern = expired || one.pattern.includes('{{') ? one.pattern.replaceAll('+*', '*') : one.pattern;
  return expired || denies ? { ...one, pattern, min: undefined, max: undefined } : { ...one, pattern };
});

const policy = fc
  .tuple(fc.array(block, { minLength: 1, maxLength: 6 }), fc.boolean())
  .map(([blocks, json]) => (json ? asJson(blocks) : blocks.map(asHcl).join('\n')));

const parameters = fc.oneof(fc.constant({}), fc.dictionary(parameterName, sentValue, { maxKeys: 3 }));
const page = fc.constantFrom('1', '2', '3', '0', '-1', 'max');
const freeRequest: fc.Arbitrary<GeneratedRequest> = fc.record({
  operation: fc.constantFrom('read', 'write', 'write', 'delete', 'list', 'patch'),
  path: requestPath,
  parameters,
  wrap: sometimes(2, fc.constantFrom('5s', '10', '60', '1m', '2m', '10m')),
});
const generatedRequest = fc
  .tuple(freeRequest, sometimes(4, page))
  .map(([one, limit]) =>
    one.operation === 'list' && limit !== undefined ? { ...one, parameters: { ...one.parameters, limit } } : one,
  );

/** Cases of `requests` requests each, always the same for a seed. */
export function generateCases(seed: number, count: number, requests: number): GeneratedCase[] {
  const one = fc.record({
    policies: fc.array(policy, { minLength: 1, maxLength: 2 }),
    person: fc.boolean(),
    requests: fc.array(generatedRequest, { minLength: requests, maxLength: requests }),
  });
  return fc.sample(one, { numRuns: count, seed });
}

function fieldsOf(one: Block): Record<string, unknown> {
  const { capabilities: granted, legacy, allowed, denied, required, min, max, limit, expiration } = one;
  const fields: Record<string, unknown> = {
    capabilities: granted,
    policy: legacy,
    allowed_parameters: allowed,
    denied_parameters: denied,
    required_parameters: required,
    min_wrapping_ttl: min,
    max_wrapping_ttl: max,
    pagination_limit: limit,
    expiration,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function asHcl(one: Block): string {
  const lines = Object.entries(fieldsOf(one)).map(([name, value]) => `  ${name} = ${hclValue(value)}`);
  return `path ${JSON.stringify(one.pattern)} {\n${lines.join('\n')}\n}`;
}

function hclValue(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `    ${JSON.stringify(key)} = ${JSON.stringify(item)}`);
  return `{\n${entries.join('\n')}\n  }`;
}

/** Only strings: the reference reads nested lists and `false` in JSON policies as something else. */
function asJson(blocks: readonly Block[]): string {
  const flat = (values?: Lists) =>
    values &&
    Object.fromEntries(Object.entries(values).map(([key, list]) => [key, list.filter((v) => typeof v === 'string')]));
  const path = blocks.map((one) => ({
    [one.pattern]: fieldsOf({ ...one, allowed: flat(one.allowed), denied: flat(one.denied) }),
  }));
  return JSON.stringify({ path });
}
