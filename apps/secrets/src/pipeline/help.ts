import type { LiveMount } from '../kernel/mounts/mount';
import type { Path } from '../sdk/path';
import type { Kernel } from './kernel';
import type { Outcome } from './request';

/**
 * The answer to `?help=1` for callers who may use a path: its description, its parameters, and its part of the OpenAPI
 * document.
 */
export function pathHelp(kernel: Kernel, mount: LiveMount, declared: Path): Outcome {
  const { summary, description, operations } = declared;
  const verbs = Object.entries(operations).map(([verb, { summary: does }]) => `    ${verb}\n        ${does}`);
  const parameters = parametersOf(declared);
  const help = [
    `${mount.path}${declared.pattern}`,
    summary,
    ...(parameters.length > 0 ? ['## PARAMETERS', ...parameters] : []),
    '## DESCRIPTION',
    ...(description ? [description] : []),
    ...verbs,
  ].join('\n\n');
  return { status: 200, bare: { help, see_also: null, openapi: kernel.help(mount, [declared]) } };
}

/** The same for a mount: its description and its paths. */
export function mountHelp(kernel: Kernel, mount: LiveMount): Outcome {
  const { summary, paths } = mount.backend;
  const listed = paths.map((declared) => `    ${declared.pattern}\n        ${declared.summary}`);
  const help = ['## DESCRIPTION', summary, '## PATHS', ...listed].join('\n\n');
  return { status: 200, bare: { help, see_also: null, openapi: kernel.help(mount, paths) } };
}

/** The parameters of the path and the fields of all its operations, by name. */
function parametersOf({ paramDocs, operations }: Path): string[] {
  const texts = new Map<string, string>();
  for (const [name, text] of Object.entries(paramDocs)) texts.set(name, entry(name, 'string', text));
  for (const operation of Object.values(operations)) {
    for (const [name, field] of Object.entries(operation.input?.shape ?? {})) {
      if (texts.has(name)) continue;
      const { description, json } = (field.meta() ?? {}) as { description?: string; json?: { type?: unknown } };
      texts.set(name, entry(name, String(json?.type ?? 'any'), description));
    }
  }
  return [...texts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
}

const entry = (name: string, type: string, text: string | undefined): string =>
  `    ${name} (${type})${text ? `\n        ${text}` : ''}`;
