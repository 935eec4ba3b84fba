import { exactJson } from '@keystead/envelope';
import { type BlockSchema, type Change, indented, renderBlock, renderNamed, sameValue } from './plan-values';

interface ActionChange extends Change {
  readonly actions: readonly string[];
  readonly replace_paths?: readonly (readonly (string | number)[])[];
  readonly importing?: { readonly id?: string };
}

interface PlannedResource {
  readonly address: string;
  readonly previous_address?: string;
  readonly module_address?: string;
  readonly mode: string;
  readonly type: string;
  readonly name: string;
  readonly index?: string | number;
  readonly provider_name: string;
  readonly action_reason?: string;
  readonly change: ActionChange;
}

type TypeSchemas = Readonly<Record<string, { readonly block: BlockSchema }>>;

interface ProviderSchemas {
  readonly resource_schemas?: TypeSchemas;
  readonly data_source_schemas?: TypeSchemas;
}

/** A plan in JSON with the schemas of its providers, as `plans/:id/json-output-redacted` returns it. */
export interface RedactedPlan {
  readonly resource_changes?: readonly PlannedResource[];
  readonly resource_drift?: readonly PlannedResource[];
  readonly output_changes?: Readonly<Record<string, ActionChange>>;
  readonly provider_schemas?: Readonly<Record<string, ProviderSchemas>>;
}

/** The symbol of each action, its name in the legend, and what it does to a resource. */
const kinds: readonly (readonly [actions: string, symbol: string, legend: string, does: string])[] = [
  ['create', '  +', 'create', 'will be created'],
  ['update', '  ~', 'update in-place', 'will be updated in-place'],
  ['delete', '  -', 'destroy', 'will be destroyed'],
  ['delete create', '-/+', 'destroy and then create replacement', 'must be replaced'],
  ['create delete', '+/-', 'create replacement and then destroy', 'must be replaced'],
  ['read', ' <=', 'read (data resources)', 'will be read during apply'],
  ['forget', '  .', 'forget', 'will no longer be managed, but will not be destroyed'],
];

const replaceReasons: ReadonlyMap<string, string> = new Map([
  ['replace_because_tainted', 'is tainted, so must be replaced'],
  ['replace_by_request', 'will be replaced, as requested'],
  ['replace_by_triggers', 'will be replaced due to changes in replace_triggered_by'],
]);

function whyOf({ address, module_address: module, index, action_reason: reason }: PlannedResource): string | undefined {
  const withoutIndex = index === undefined ? address : address.slice(0, address.lastIndexOf('['));
  switch (reason) {
    case 'delete_because_no_resource_config':
      return `because ${withoutIndex} is not in configuration`;
    case 'delete_because_no_module':
      return `because ${module} is not in configuration`;
    case 'delete_because_no_move_target':
      return `because ${address} was moved to an address that is not in configuration`;
    case 'delete_because_wrong_repetition':
      return 'because resource does not use this kind of repetition';
    case 'delete_because_count_index':
      return `because index [${index}] is out of range for count`;
    case 'delete_because_each_key':
      return `because key [${JSON.stringify(index)}] is not in for_each map`;
    case 'read_because_config_unknown':
      return 'config refers to values not yet known';
    case 'read_because_dependency_pending':
      return 'depends on a resource or a module with changes pending';
    default:
      return undefined;
  }
}

const kindOf = ({ actions }: ActionChange) => kinds.find(([name]) => name === actions.join(' '));

function resourceText(resource: PlannedResource, schemas: RedactedPlan['provider_schemas']): string | undefined {
  const { address, previous_address: before, mode, type, name, change } = resource;
  const kind = kindOf(change);
  const [, symbol, , does] = kind ?? ['', '   ', '', before ? `has moved from ${before}` : 'will be imported'];
  if (!kind && !before && !change.importing) return undefined;
  const why = [
    whyOf(resource),
    ...(kind && before ? [`moved from ${before}`] : []),
    ...(change.importing ? [`imported from ${JSON.stringify(change.importing.id ?? '')}`] : []),
  ].filter(Boolean);
  const { resource_schemas: managed, data_source_schemas: data } = schemas?.[resource.provider_name] ?? {};
  const block = (mode === 'data' ? data : managed)?.[type]?.block;
  const replaced = new Set((change.replace_paths ?? []).map((path) => path.join('.')));
  return [
    `  # ${address} ${replaceReasons.get(resource.action_reason ?? '') ?? does}`,
    ...why.map((reason) => `  # (${reason})`),
    `${symbol} ${mode === 'data' ? 'data' : 'resource'} "${type}" "${name}" {`,
    ...indented(renderBlock(change, block, replaced)),
    '    }',
  ].join('\n');
}

function counted(changes: readonly PlannedResource[]): string {
  const all = changes.map(({ change }) => change);
  const count = (action: string) =>
    all.filter(({ actions }) => actions.includes(action) && !actions.includes('read')).length;
  const [imported, forgotten] = [all.filter(({ importing }) => importing).length, count('forget')];
  return `Plan: ${[
    ...(imported > 0 ? [`${imported} to import`] : []),
    `${count('create')} to add`,
    `${count('update')} to change`,
    `${count('delete')} to destroy`,
    ...(forgotten > 0 ? [`${forgotten} to forget`] : []),
  ].join(', ')}.`;
}

function outputsText(changes: NonNullable<RedactedPlan['output_changes']>): string[] {
  const all = Object.entries(changes);
  const changed = new Set(all.filter(([, { actions }]) => actions.join() !== 'no-op').map(([name]) => name));
  return changed.size > 0 ? ['Changes to Outputs:', ...renderNamed(new Map(all), changed), ''] : [];
}

/** The plan as the tool prints it, without colours. Values that the plan does not disclose are `(sensitive value)`. */
export function planText(plan: RedactedPlan): string {
  const changes = plan.resource_changes ?? [];
  const shown = changes.flatMap((resource) => resourceText(resource, plan.provider_schemas) ?? []);
  const outputs = outputsText(plan.output_changes ?? {});
  if (shown.length === 0 && outputs.length === 0) return driftText(plan);
  const legend = kinds.filter((kind) => changes.some(({ change }) => kindOf(change) === kind));
  return [
    ...(shown.length === 0
      ? []
      : [
          '',
          'Terraform used the selected providers to generate the following execution',
          'plan. Resource actions are indicated with the following symbols:',
          ...legend.map(([, symbol, meaning]) => `${symbol} ${meaning}`),
          '',
          'Terraform will perform the following actions:',
          '',
          ...shown.flatMap((text) => [text, '']),
          counted(changes),
        ]),
    '',
    ...outputs,
  ].join('\n');
}

/** The text for a plan without changes, or for one that only updates the state with changes made outside. */
function driftText({ resource_drift: drift = [], provider_schemas: schemas }: RedactedPlan): string {
  const changed = drift.filter(({ change }) => !sameValue(change.before, change.after));
  const shown = changed.flatMap((resource) => resourceText(resource, schemas) ?? []);
  if (shown.length === 0)
    return [
      '',
      'No changes. Your infrastructure matches the configuration.',
      '',
      'Terraform has compared your real infrastructure against your configuration',
      'and found no differences, so no changes are needed.',
      '',
    ].join('\n');
  return [
    '',
    'Note: Objects have changed outside of Terraform',
    '',
    'Terraform detected the following changes made outside of Terraform since the',
    'last "terraform apply" which may have affected this plan:',
    '',
    ...shown.flatMap((text) => [text, '']),
  ].join('\n');
}

/** The values of outputs, as the tool prints them after an apply. */
export function outputValues(
  outputs: Readonly<Record<string, { readonly sensitive?: boolean; readonly value?: unknown }>>,
): string {
  const names = Object.keys(outputs).sort();
  if (names.length === 0) return '';
  const lines = names.map((name) => {
    const { sensitive, value } = outputs[name]!;
    return `${name} = ${sensitive ? '<sensitive>' : literal(value)}`;
  });
  return ['', 'Outputs:', '', ...lines].join('\n');
}

function literal(value: unknown, indent = ''): string {
  const inner = `${indent}  `;
  if (Array.isArray(value))
    return value.length === 0
      ? '[]'
      : `[\n${value.map((one) => `${inner}${literal(one, inner)},\n`).join('')}${indent}]`;
  if (typeof value === 'string' && value.includes('\n')) return `<<EOT\n${value.replace(/\n$/, '')}\nEOT`;
  if (typeof value !== 'object' || value === null || !isRecord(value)) return exactJson(value);
  const entries = Object.keys(value).sort();
  if (entries.length === 0) return '{}';
  const parts = entries.map((key) => `${inner}${JSON.stringify(key)} = ${literal(value[key], inner)}\n`);
  return `{\n${parts.join('')}${indent}}`;
}

const isRecord = (value: object): value is Record<string, unknown> =>
  Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;
