import { z } from 'zod';

const Expression = z.looseObject({ references: z.array(z.string()).optional() });
interface ConfiguredModule {
  readonly resources?: readonly {
    readonly mode: string;
    readonly type: string;
    readonly name: string;
    readonly expressions?: unknown;
    readonly count_expression?: unknown;
    readonly for_each_expression?: unknown;
    readonly depends_on?: readonly string[] | undefined;
  }[];
  readonly outputs?: Readonly<
    Record<string, { readonly expression?: unknown; readonly depends_on?: readonly string[] | undefined }>
  >;
  readonly module_calls?: Readonly<Record<string, { readonly expressions?: unknown; readonly module?: unknown }>>;
}
const dependsOn = z.array(z.string()).optional();
const Configured: z.ZodType<ConfiguredModule> = z.looseObject({
  resources: z
    .array(
      z.looseObject({
        mode: z.string(),
        type: z.string(),
        name: z.string(),
        expressions: z.unknown().optional(),
        count_expression: z.unknown().optional(),
        for_each_expression: z.unknown().optional(),
        depends_on: dependsOn,
      }),
    )
    .optional(),
  outputs: z
    .record(z.string(), z.looseObject({ expression: z.unknown().optional(), depends_on: dependsOn }))
    .optional(),
  module_calls: z
    .record(z.string(), z.looseObject({ expressions: z.unknown().optional(), module: z.unknown().optional() }))
    .optional(),
});

/** A module of the configuration, its address, and the call that it comes from. */
interface Placed {
  readonly at: string;
  readonly module: ConfiguredModule;
  readonly parent?: Placed;
  /** The inputs that the call passes. */
  readonly inputs?: unknown;
  readonly children: Map<string, Placed>;
}

function place(value: unknown, at: string, parent?: Placed, inputs?: unknown): Placed {
  const placed: Placed = {
    at,
    // Unexpected parts of the tool's output are left out, because a plan must not fail because of its graph.
    module: Configured.safeParse(value).data ?? {},
    ...(parent ? { parent, inputs } : {}),
    children: new Map(),
  };
  for (const [name, call] of Object.entries(placed.module.module_calls ?? {})) {
    placed.children.set(name, place(call.module, `${at}module.${name}.`, placed, call.expressions));
  }
  return placed;
}

/** All references in an expression, nested ones included. */
function referencesIn(expression: unknown): string[] {
  if (typeof expression !== 'object' || expression === null) return [];
  const own = Expression.safeParse(expression);
  const nested = Object.entries(expression).flatMap(([key, value]) =>
    key === 'references' ? [] : referencesIn(value),
  );
  return [...(own.success ? (own.data.references ?? []) : []), ...nested];
}

const addressOf = ({ mode, type, name }: { mode: string; type: string; name: string }): string =>
  `${mode === 'data' ? 'data.' : ''}${type}.${name}`;

/**
 * The resources that each resource of a configuration refers to, by their addresses without instances. References go
 * through variables and outputs of modules, but not through local values, which the tool does not describe. Contains no
 * values.
 */
export function dependenciesOf(configuration: unknown): Record<string, string[]> {
  const root = place((configuration as { root_module?: unknown } | undefined)?.root_module, '');
  const dependencies = new Map<string, readonly string[]>();

  function resolve(placed: Placed, reference: string): readonly string[] {
    const key = `${placed.at} ${reference}`;
    const before = dependencies.get(key);
    if (before !== undefined) return before;
    // Circular references add nothing.
    dependencies.set(key, []);
    const found = [...new Set(look(placed, reference.split(/[.[]/)))];
    dependencies.set(key, found);
    return found;
  }
  const all = (placed: Placed, references: readonly string[]) => references.flatMap((one) => resolve(placed, one));

  function look(placed: Placed, [first = '', second = '', third = '']: readonly string[]): readonly string[] {
    if (first === 'var') {
      const value = (placed.inputs as Record<string, unknown> | undefined)?.[second];
      return placed.parent ? all(placed.parent, referencesIn(value)) : [];
    }
    if (first === 'module') {
      const child = placed.children.get(second);
      const output = child?.module.outputs?.[third];
      return child && output ? all(child, [...referencesIn(output.expression), ...(output.depends_on ?? [])]) : [];
    }
    const address = first === 'data' ? `data.${second}.${third}` : `${first}.${second}`;
    const isResource = placed.module.resources?.some((one) => addressOf(one) === address);
    return isResource ? [placed.at + address] : [];
  }

  const found: Record<string, string[]> = {};
  function visit(placed: Placed): void {
    for (const resource of placed.module.resources ?? []) {
      const { expressions, count_expression: count, for_each_expression: each, depends_on: explicit } = resource;
      const references = [...referencesIn([expressions, count, each]), ...(explicit ?? [])];
      const address = placed.at + addressOf(resource);
      found[address] = [...new Set(all(placed, references))].filter((one) => one !== address).sort();
    }
    for (const child of placed.children.values()) visit(child);
  }
  visit(root);
  return found;
}
