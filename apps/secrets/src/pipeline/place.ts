import { Refusal } from '@keystead/refusal';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespace, Namespaces } from '../kernel/namespaces/namespaces';
import type { AnyOperation, Auth, Path } from '../sdk/path';
import type { Request } from './request';

/** Where a request leads: everything that can be known without asking who sent it. */
export interface Place {
  readonly namespace: Namespace;
  /** Inside the namespace. */
  readonly path: string;
  readonly mount: LiveMount | undefined;
  /** Below the mount. */
  readonly below: string;
  /** Undefined where the mount has no such path. */
  readonly declared: Path | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** Undefined where the path does not answer this verb. */
  readonly operation: AnyOperation | undefined;
  readonly auth: Auth;
}

const noParams: Readonly<Record<string, string>> = {};

/** Finds mount, path and operation. What is not found is refused later, when it is known who may learn that. */
export function findPlace(namespaces: Namespaces, mounts: Mounts, request: Request): Place {
  const { namespace, path } = namespaces.resolve(request.namespace, request.path);
  if (request.verb === 'write' && path.endsWith('/')) {
    throw new Refusal('malformed', "cannot write to a path ending in '/'");
  }
  const resolved = mounts.resolve(namespace.uuid, path);
  if (!resolved || resolved.mount.tainted) {
    return place(namespace, path, undefined, '', undefined, noParams, undefined, 'token');
  }
  const { mount, path: below } = resolved;
  const matched = mount.tree.match(below, request.verb);
  if (!matched) return place(namespace, path, mount, below, undefined, noParams, undefined, 'token');
  const { path: declared, params } = matched;
  if (declared.rootNamespaceOnly && namespace.parentUuid !== undefined) {
    throw new Refusal('invalid', 'operation unavailable in namespaces');
  }
  const operation = declared.operations[request.verb];
  return place(namespace, path, mount, below, declared, params, operation, operation?.auth ?? declared.auth);
}

function place(
  namespace: Namespace,
  path: string,
  mount: LiveMount | undefined,
  below: string,
  declared: Path | undefined,
  params: Readonly<Record<string, string>>,
  operation: AnyOperation | undefined,
  auth: Auth,
): Place {
  return { namespace, path, mount, below, declared, params, operation, auth };
}
