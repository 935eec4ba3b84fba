import type { NamedPolicy, Subject } from './types';

/** Whether a pattern holds an identity template. */
export function isTemplated(pattern: string): boolean {
  return pattern.includes('{{');
}

/** The error in the braces of a pattern; undefined if there is none. */
export function checkTemplate(pattern: string): string | undefined {
  const pieces = pattern.split('{{');
  if (pieces[0]!.includes('}}')) return 'unbalanced templating characters';
  for (const piece of pieces.slice(1)) {
    const closed = piece.split('}}');
    if (closed.length !== 2) return 'unbalanced templating characters';
    if (closed[0]!.trim() === '') return 'empty template';
  }
  return undefined;
}

/**
 * Fills the templates of a pattern from the subject; undefined if a template cannot be resolved, in which case the
 * block is ignored.
 *
 * A value with `*`, `+` or `/` could widen the pattern, so it cannot be resolved unless the policy allows it.
 */
export function fillTemplate(
  pattern: string,
  subject: Subject | undefined,
  flags: Pick<NamedPolicy, 'allowsWildcardsInTemplates' | 'allowsSlashesInTemplates'>,
): string | undefined {
  if (!subject) return undefined;
  const [head, ...pieces] = pattern.split('{{');
  let filled = head!;
  for (const piece of pieces) {
    const [name, rest] = piece.split('}}');
    const value = resolve(name!.trim(), subject);
    if (value === undefined || value === '') return undefined;
    if (!flags.allowsWildcardsInTemplates && (value.includes('*') || value.includes('+'))) return undefined;
    if (!flags.allowsSlashesInTemplates && value.includes('/')) return undefined;
    // Braces in a value must not become a template, and dot segments must not lead to a higher path.
    if (value.includes('{{') || value === '.' || value === '..') return undefined;
    filled += value + (rest ?? '');
  }
  return filled;
}

function resolve(name: string, subject: Subject): string | undefined {
  if (name.startsWith('identity.entity.')) return resolveEntity(name.slice('identity.entity.'.length), subject.entity);
  if (name.startsWith('identity.groups.ids.')) {
    const { head, rest } = splitName(name.slice('identity.groups.ids.'.length));
    const group = subject.groups.find(({ id }) => id === head);
    return group && (rest === 'name' ? group.name : resolveMetadata(rest, 'metadata.', group.metadata));
  }
  if (name.startsWith('identity.groups.names.'))
    return resolveGroupName(name.slice('identity.groups.names.'.length), subject);
  return undefined;
}

function resolveEntity(name: string, entity: Subject['entity']): string | undefined {
  if (!entity) return undefined;
  if (name === 'id') return entity.id;
  if (name === 'name') return entity.name;
  if (name.startsWith('metadata.')) return resolveMetadata(name, 'metadata.', entity.metadata);
  if (!name.startsWith('aliases.')) return undefined;
  const { head, rest } = splitName(name.slice('aliases.'.length));
  const alias = entity.aliases.find(({ mountAccessor }) => mountAccessor === head);
  if (!alias) return undefined;
  if (rest === 'id') return alias.id;
  if (rest === 'name') return alias.name;
  return (
    resolveMetadata(rest, 'metadata.', alias.metadata) ??
    resolveMetadata(rest, 'custom_metadata.', alias.customMetadata)
  );
}

/** Group names may contain dots, so the name is everything before a known suffix. */
function resolveGroupName(name: string, { groups }: Subject): string | undefined {
  for (const group of groups) {
    if (!name.startsWith(`${group.name}.`)) continue;
    const rest = name.slice(group.name.length + 1);
    const value = rest === 'id' ? group.id : resolveMetadata(rest, 'metadata.', group.metadata);
    if (value !== undefined) return value;
  }
  return undefined;
}

function resolveMetadata(name: string, prefix: string, metadata: Readonly<Record<string, string>>): string | undefined {
  const key = name.slice(prefix.length);
  return name.startsWith(prefix) && Object.hasOwn(metadata, key) ? metadata[key] : undefined;
}

function splitName(name: string): { head: string; rest: string } {
  const dot = name.indexOf('.');
  return dot < 0 ? { head: name, rest: '' } : { head: name.slice(0, dot), rest: name.slice(dot + 1) };
}
