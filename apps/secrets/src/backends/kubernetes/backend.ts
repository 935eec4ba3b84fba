import { type Backend, backend } from '../../sdk/backend';
import type { Cluster } from './cluster';
import { configPath } from './config';
import { loginPath, renewLogin } from './login';
import { roleListPath, rolePath } from './role';

/** Logs pods in with service account tokens, which the cluster verifies. Decision 0115. */
export const kubernetes = (cluster: Cluster): Backend =>
  backend({
    type: 'kubernetes',
    outside: true,
    kind: 'auth',
    summary: 'Logs in service accounts of a Kubernetes cluster.',
    paths: [configPath, roleListPath, rolePath, loginPath(cluster)],
    renewLogin,
  });
