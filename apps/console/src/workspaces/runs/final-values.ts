import type { Instance, StateFile } from '../workspace/state-diff';
import { type AttributeChange, type AttributeValue, shown } from './plan-changes';

/** The value in the state at the path of an attribute. Keys may contain dots. */
function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const record = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(record, path)) return record[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const found = valueAt(record[path.slice(0, dot)], path.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

const setByApply: AttributeValue = { text: '(set by the apply)', kind: 'unknown' };

/**
 * The attributes after the apply: values that were unknown in the plan are replaced by values from the state. Sensitive
 * values stay hidden; all other values stay as planned.
 */
export function finalAttributes(
  attributes: readonly AttributeChange[],
  instance: Instance | undefined,
): readonly AttributeChange[] {
  return attributes.map((one) => {
    if (one.after.kind !== 'unknown') return one;
    if (instance === undefined) return { ...one, after: setByApply };
    const isSensitive = instance.sensitive.some((name) => one.path === name || one.path.startsWith(`${name}.`));
    return { ...one, after: shown(valueAt(instance.attributes, one.path) ?? null, isSensitive, false) };
  });
}

/** The outputs after the apply, in the same way. */
export function finalOutputs(
  outputs: readonly AttributeChange[],
  state: StateFile | undefined,
): readonly AttributeChange[] {
  return outputs.map((one) => {
    if (one.after.kind !== 'unknown') return one;
    const output = state?.outputs?.[one.path];
    return { ...one, after: output ? shown(output.value, output.sensitive === true, false) : setByApply };
  });
}
