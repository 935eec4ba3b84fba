import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { LiveMount } from '../../../kernel/mounts/mount';
import type { Call } from '../../../sdk/call';
import { string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, listed } from '../../../sdk/reply';
import { showMount, shownPath } from '../mounts/mounts';
import { accessOf, type PreflightParts, reaches, rulesOf } from './preflight';

const mountsOutput = z.object({ auth: z.looseObject({}), secret: z.looseObject({}) });

/** Preflight requests of user interfaces and command lines. */
export function internalUiPaths(parts: PreflightParts) {
  const { mounts, namespaces } = parts;
  const visible = async (mount: LiveMount, hash: string | undefined): Promise<boolean> =>
    mount.config.listingVisibility === 'unauth' || (hash !== undefined && (await reaches(parts, hash, mount)));

  const brief = (mount: LiveMount) => {
    const { config, ...shown } = showMount(mount);
    return { ...shown, config };
  };

  return [
    path('internal/ui/mounts', {
      summary: 'Mounts that the caller may see.',
      auth: 'optional',
      read: {
        summary: 'List the mounts that the caller may see.',
        operationId: 'internal-ui-list-enabled-visible-mounts',
        output: mountsOutput,
        auditClear: 'all',
        async run({ caller, namespace }) {
          const shown: Record<'auth' | 'secret', Record<string, unknown>> = { auth: {}, secret: {} };
          for (const kind of ['auth', 'secret'] as const) {
            for (const mount of mounts.list(namespace.uuid, kind)) {
              if (!(await visible(mount, caller.token?.hash))) continue;
              shown[kind][shownPath(mount)] = caller.token
                ? brief(mount)
                : { type: mount.type, description: mount.description, options: mount.options };
            }
          }
          return data(shown);
        },
      },
    }),
    path('internal/ui/mounts/:path*', {
      summary: 'The mount to which a path leads.',
      auth: 'optional',
      params: { path: 'folder' },
      read: {
        summary: 'Read the mount to which a path leads.',
        operationId: 'internal-ui-read-mount-information',
        output: z.looseObject({ path: z.string(), type: z.string() }),
        auditClear: 'all',
        async run({ params, caller, namespace }: Call<{ path: string }>) {
          const hash = caller.token?.hash;
          if (hash === undefined) throw new Refusal('denied', 'permission denied');
          // Resolved like a request, because the path may lead into child namespaces.
          const inner = namespaces.resolve(namespace.path, params.path);
          const mount = mounts.resolve(inner.namespace.uuid, inner.path)?.mount;
          if (!mount || !(await reaches(parts, hash, mount))) {
            throw new Refusal(
              'denied',
              `preflight capability check returned 403, please ensure client's policies grant access to path "${params.path}/"`,
            );
          }
          const below = inner.namespace.path.slice(namespace.path.length);
          return data({ ...brief(mount), path: `${below}${mount.path}` });
        },
      },
    }),
    path('internal/ui/resultant-acl', {
      summary: 'The policy rules of the calling token.',
      read: {
        summary: 'Read the policy rules of the calling token.',
        operationId: 'internal-ui-read-resultant-acl',
        output: z.looseObject({ root: z.boolean() }),
        description: 'With sudo, also the rules of another token of this namespace or below, by its accessor.',
        input: z.object({
          accessor: string().optional().describe('Accessor of the token. Default: the calling token.'),
        }),
        auditClear: 'all',
        async run({ caller, input, namespace }) {
          const { accessor } = input;
          if (accessor && accessor !== caller.token!.accessor && !caller.sudo) {
            throw listed('denied', 'permission denied');
          }
          const found = await rulesOf(
            parts,
            accessor ? { namespaceId: namespace.uuid, accessor } : { hash: caller.token!.hash },
          );
          if (!found) throw listed('invalid', 'invalid accessor');
          const { root, exact, glob } = found;
          const shape = (rules: Readonly<Record<string, readonly string[]>>) =>
            Object.fromEntries(Object.entries(rules).map(([pattern, capabilities]) => [pattern, { capabilities }]));
          return data({ root, exact_paths: root ? null : shape(exact), glob_paths: root ? null : shape(glob) });
        },
      },
    }),
    path('internal/ui/namespaces', {
      summary: 'The child namespaces of the current namespace.',
      auth: 'optional',
      read: {
        summary: 'List the child namespaces in which the caller has access.',
        operationId: 'internal-ui-list-namespaces',
        auditClear: 'all',
        async run({ caller, namespace }) {
          const access = caller.token && (await accessOf(parts, caller.token.hash));
          if (!access) return data({ keys: [] });
          const below = namespaces.below(namespaces.find(namespace.uuid)!);
          const children = below.filter(
            ({ parentUuid, path: at }) => parentUuid === namespace.uuid && access.grantsBelow(at),
          );
          return data({ keys: children.map(({ path: at }) => at.slice(namespace.path.length)) });
        },
      },
    }),
  ];
}
