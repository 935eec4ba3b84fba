import { hidden, isScalar, redact } from '../runs/redact';
import type {
  ModuleConfiguration,
  PlanChange,
  PlanDocument,
  PlannedChange,
  StateModule,
  StateValues,
} from './plan-document';

/** Shorter strings reveal nothing, and appear everywhere. */
const leastSecret = 4;

const mapValues = <T, U>(all: Record<string, T>, of: (value: T, key: string) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(all).map(([key, value]) => [key, of(value, key)]));

/**
 * A plan without sensitive values: those that the tool marks, the values of the variables named in `sensitive`, and all
 * equal strings, which the tool does not mark if a provider passes them on. The rest is unchanged.
 */
export function scrubPlan(plan: PlanDocument, sensitive: ReadonlySet<string>): PlanDocument {
  const texts = new Set<string>();
  const marked = new Scrubber((part) => collect(part, texts)).plan(plan, sensitive);
  return texts.size === 0 ? marked : (conceal(marked, texts) as PlanDocument);
}

function collect(part: unknown, into: Set<string>): void {
  if (typeof part === 'string') {
    if (part.length >= leastSecret) into.add(part);
  } else if (!isScalar(part)) for (const inner of Object.values(part as object)) collect(inner, into);
}

function conceal(value: unknown, texts: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return texts.has(value) ? hidden : value;
  if (isScalar(value)) return value;
  if (Array.isArray(value)) return value.map((item) => conceal(item, texts));
  return mapValues(value as Record<string, unknown>, (item) => conceal(item, texts));
}

/** Hides marked values, part by part of the document. */
class Scrubber {
  constructor(private readonly onHidden: (part: unknown) => void) {}

  plan(plan: PlanDocument, sensitive: ReadonlySet<string>): PlanDocument {
    const declared = plan.configuration?.root_module?.variables ?? {};
    const isSensitive = (name: string) =>
      sensitive.has(name) || (Object.hasOwn(declared, name) && declared[name]?.sensitive === true);
    const { variables, planned_values: planned, prior_state: prior, configuration } = plan;
    return {
      ...plan,
      ...(variables && {
        variables: mapValues(variables, (one, name) => ({ ...one, value: this.hide(one.value, isSensitive(name)) })),
      }),
      ...(planned && { planned_values: this.values(planned) }),
      ...(plan.resource_changes && { resource_changes: this.resources(plan.resource_changes) }),
      ...(plan.resource_drift && { resource_drift: this.resources(plan.resource_drift) }),
      ...(plan.output_changes && { output_changes: mapValues(plan.output_changes, (one) => this.change(one)) }),
      ...(prior && { prior_state: { ...prior, ...(prior.values && { values: this.values(prior.values) }) } }),
      ...(configuration && {
        configuration: {
          ...configuration,
          ...(configuration.root_module && { root_module: this.configured(configuration.root_module) }),
        },
      }),
    };
  }

  private hide(value: unknown, mask: unknown): unknown {
    return redact(value, mask, this.onHidden);
  }

  private resources(all: readonly PlannedChange[]): PlannedChange[] {
    return all.map((one) => ({ ...one, change: this.change(one.change) }));
  }

  private change(change: PlanChange): PlanChange {
    return {
      ...change,
      before: this.hide(change.before, change.before_sensitive),
      after: this.hide(change.after, change.after_sensitive),
    };
  }

  private values(values: StateValues): StateValues {
    return {
      ...values,
      ...(values.outputs && {
        outputs: mapValues(values.outputs, (one) => ({ ...one, value: this.hide(one.value, one.sensitive === true) })),
      }),
      ...(values.root_module && { root_module: this.module(values.root_module) }),
    };
  }

  private module(module: StateModule): StateModule {
    return {
      ...module,
      ...(module.resources && {
        resources: module.resources.map((one) => ({ ...one, values: this.hide(one.values, one.sensitive_values) })),
      }),
      ...(module.child_modules && { child_modules: module.child_modules.map((one) => this.module(one)) }),
    };
  }

  private configured(module: ModuleConfiguration): ModuleConfiguration {
    return {
      ...module,
      ...(module.variables && {
        variables: mapValues(module.variables, (one) =>
          'default' in one ? { ...one, default: this.hide(one.default, one.sensitive === true) } : one,
        ),
      }),
      ...(module.module_calls && {
        module_calls: mapValues(module.module_calls, (call) =>
          call.module ? { ...call, module: this.configured(call.module) } : call,
        ),
      }),
    };
  }
}
