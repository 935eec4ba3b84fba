import type { Call } from '../../sdk/call';
import { refuse } from '../../sdk/refuse';
import { checkVisible } from './principals';
import { listed, type SshRole } from './role';

type OptionValues = Readonly<Record<string, string>>;

function checked(options: OptionValues, what: string): OptionValues {
  for (const text of Object.entries(options).flat()) checkVisible(text, what);
  if (Object.hasOwn(options, '')) refuse(`${what} has an option without a name`);
  return options;
}

const named = (names: readonly string[]): string => `[${[...names].sort().join(' ')}]`;

/**
 * The requested critical options, or those of the role if none are requested. Throws `invalid` for an option that is
 * not allowed.
 */
export function criticalOptionsOf(role: SshRole, requested: OptionValues): OptionValues {
  if (Object.keys(requested).length === 0) return role.default_critical_options;
  const allowed = listed(role.allowed_critical_options);
  const wrong = allowed.length === 0 ? [] : Object.keys(requested).filter((name) => !allowed.includes(name));
  if (wrong.length > 0) refuse(`critical options not on allowed list: ${named(wrong)}`);
  return checked(requested, 'critical_options');
}

/** The requested extensions. If none are requested, those of the role, for user certificates only. */
export function extensionsOf(
  call: Pick<Call, 'filled' | 'warn'>,
  role: SshRole,
  kind: 'user' | 'host',
  requested: OptionValues,
): OptionValues {
  if (Object.keys(requested).length > 0) {
    const allowed = listed(role.allowed_extensions);
    const wrong =
      role.allowed_extensions === '*' ? [] : Object.keys(requested).filter((name) => !allowed.includes(name));
    if (wrong.length > 0) refuse(`extensions ${named(wrong)} are not on allowed list`);
    return checked(requested, 'extensions');
  }
  if (kind === 'host') return {};
  if (!role.default_extensions_template) return role.default_extensions;
  const filled = Object.entries(role.default_extensions).map(([name, value]) => [name, call.filled(value)] as const);
  if (filled.some(([, value]) => value === undefined)) {
    call.warn(
      'default_extension templating enabled with at least one extension requiring identity templating. However, this request lacked identity entity information, causing one or more extensions to be skipped from the generated certificate.',
    );
  }
  return checked(
    Object.fromEntries(filled.filter((one): one is [string, string] => one[1] !== undefined)),
    'extensions',
  );
}
