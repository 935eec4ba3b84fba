import { backend } from '../../sdk/backend';
import type { Path } from '../../sdk/path';

/** The system's own paths. */
export const system = (paths: readonly Path[]) =>
  backend({
    type: 'system',
    kind: 'system',
    summary: 'system endpoints used for control, policy and debugging',
    paths,
  });
