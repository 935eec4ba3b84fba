import { ExactNumber, exactJson } from '@keystead/envelope';
/** A value that is sensitive, or unknown until the apply. */
export type AttributeValue = { readonly text: string; readonly kind: 'value' | 'sensitive' | 'unknown' | 'absent' };

/** One attribute of a resource, before and after. */
export interface AttributeChange {
  readonly path: string;
  readonly before: AttributeValue;
  readonly after: AttributeValue;
  readonly replaces: boolean;
}

export type ChangeKind = 'create' | 'update' | 'replace' | 'delete' | 'read' | 'forget' | 'import';

/** The action of a plan on one resource. */
export interface ResourceChange {
  readonly address: string;
  readonly module: string;
  readonly type: string;
  readonly kind: ChangeKind;
  readonly reason: string | undefined;
  readonly attributes: readonly AttributeChange[];
}

interface PlannedChange {
  readonly actions: readonly string[];
  readonly before: unknown;
  readonly after: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
  readonly replace_paths?: readonly (readonly (string | number)[])[];
  readonly importing?: object;
}

/** The parts of the tool's plan that are shown. */
export interface PlanJson {
  readonly resource_changes?: readonly {
    readonly address: string;
    readonly module_address?: string;
    readonly type: string;
    readonly action_reason?: string;
    readonly change: PlannedChange;
  }[];
  readonly output_changes?: Readonly<Record<string, PlannedChange>>;
  /** For each resource, the resources that it refers to in the configuration, by addresses without instance keys. */
  readonly resource_dependencies?: Readonly<Record<string, readonly string[]>>;
}

function kindOf({ actions, importing }: PlannedChange): ChangeKind | undefined {
  const all = actions.join(' ');
  if (all === 'create delete' || all === 'delete create') return 'replace';
  if (all === 'no-op') return importing === undefined ? undefined : 'import';
  return (['create', 'update', 'delete', 'read', 'forget'] as const).find((kind) => kind === all);
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;
const at = (value: unknown, key: string): unknown =>
  isBranch(value) ? (value as Record<string, unknown>)[key] : undefined;

/**
 * A value for display. `sensitive` and `unknown` are true for a whole value, or have its structure and mark parts of
 * it.
 */
export function shown(value: unknown, sensitive: unknown, unknown: unknown): AttributeValue {
  if (sensitive === true) return { text: '(sensitive)', kind: 'sensitive' };
  if (unknown === true) return { text: '(known after apply)', kind: 'unknown' };
  if (value === undefined || value === null) return { text: '', kind: 'absent' };
  return { text: textOf(value, sensitive, unknown), kind: 'value' };
}

/** A value as JSON, with placeholders for unknown and sensitive parts. */
function textOf(value: unknown, sensitive: unknown, unknown: unknown): string {
  if (sensitive === true) return '(sensitive)';
  if (unknown === true) return '(known after apply)';
  if (!isBranch(value) || value instanceof ExactNumber) return exactJson(value);
  const keys = [...new Set([...Object.keys(value), ...(isBranch(unknown) ? Object.keys(unknown) : [])])];
  const parts = keys.map((key) => {
    const text = textOf(at(value, key), at(sensitive, key), at(unknown, key));
    return Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`;
  });
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

/** Lists the attributes that differ, at any depth. */
function attributesOf(change: PlannedChange): AttributeChange[] {
  const found: AttributeChange[] = [];
  const replaced = new Set((change.replace_paths ?? []).map((path) => path.join('.')));
  const walk = (
    path: string,
    before: unknown,
    after: unknown,
    unknown: unknown,
    wasSecret: unknown,
    isSecret: unknown,
  ) => {
    const opaque = unknown === true || wasSecret === true || isSecret === true;
    if (
      !opaque &&
      (isBranch(before) || isBranch(after)) &&
      (before === null ||
        after === null ||
        isBranch(before) === isBranch(after) ||
        before === undefined ||
        after === undefined)
    ) {
      const keys = new Set([
        ...Object.keys(before ?? {}),
        ...Object.keys(after ?? {}),
        ...(isBranch(unknown) ? Object.keys(unknown) : []),
      ]);
      if (keys.size > 0) {
        for (const key of keys) {
          walk(
            path === '' ? key : `${path}.${key}`,
            at(before, key),
            at(after, key),
            at(unknown, key),
            at(wasSecret, key),
            at(isSecret, key),
          );
        }
        return;
      }
    }
    const from = shown(before, wasSecret, undefined);
    const to = shown(after, isSecret, unknown);
    const isSame = from.kind === to.kind && from.text === to.text && exactJson(before) === exactJson(after);
    if (!isSame && (from.kind !== 'absent' || to.kind !== 'absent'))
      found.push({ path, before: from, after: to, replaces: replaced.has(path) });
  };
  walk('', change.before, change.after, change.after_unknown, change.before_sensitive, change.after_sensitive);
  return found;
}

/** The differences between two values, at any depth. */
export const differencesOf = (before: unknown, after: unknown): AttributeChange[] =>
  attributesOf({ actions: [], before, after });

/** Destructive actions come first, so that they are not missed. */
const order: readonly ChangeKind[] = ['delete', 'replace', 'update', 'create', 'import', 'forget', 'read'];

/** The tool's reasons for an action, in plain words. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['replace_because_tainted', 'it is tainted'],
  ['replace_because_cannot_update', 'an attribute cannot be updated in place'],
  ['replace_by_request', 'the run asked to replace it'],
  ['replace_by_triggers', 'a resource in replace_triggered_by changes'],
  ['delete_because_no_resource_config', 'it is not in the configuration'],
  ['delete_because_no_module', 'its module is not in the configuration'],
  ['delete_because_wrong_repetition', 'its count or for_each was added or removed'],
  ['delete_because_count_index', 'its index is outside of count'],
  ['delete_because_each_key', 'its key is not in for_each'],
  ['delete_because_no_move_target', 'it was moved to an address that is not in the configuration'],
  ['read_because_config_unknown', 'its configuration is known only after apply'],
  ['read_because_dependency_pending', 'something it depends on changes'],
]);

/** The changes of a plan, by resource: destructive ones first, then in the order of addresses. */
export function changesOf(plan: PlanJson): ResourceChange[] {
  const found: ResourceChange[] = [];
  for (const { address, module_address: module = '', type, action_reason: reason, change } of plan.resource_changes ??
    []) {
    const kind = kindOf(change);
    if (kind === undefined) continue;
    found.push({
      address,
      module,
      type,
      kind,
      reason: reason && (reasons.get(reason) ?? reason.replace(/_/g, ' ')),
      attributes: attributesOf(change),
    });
  }
  return found.sort(
    (one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || one.address.localeCompare(other.address),
  );
}

/** Outputs that a plan changes. */
export function outputsOf(plan: PlanJson): AttributeChange[] {
  return Object.entries(plan.output_changes ?? {}).flatMap(([name, change]) => {
    if (change.actions.join() === 'no-op') return [];
    const before = shown(change.before, change.before_sensitive, undefined);
    const after = shown(change.after, change.after_sensitive, change.after_unknown);
    return [{ path: name, before, after, replaces: false }];
  });
}
