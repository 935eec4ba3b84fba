import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('what the specification says in sentences', () => {
  const secrets = startSecrets();

  it('has the paths of a mount where it is mounted, and calls them so (SP.4)', async () => {
    await secrets.root.write('sys/mounts/jobs', { type: 'scheduler' }).expect(204);
    await secrets.root.write('jobs/role/ops', { policies: 'read' }).expect(204);
    await secrets.root.read('jobs/role/ops').expect(200);
    await secrets.root.read('scheduler/role/ops').expect(404);
    const { paths } = (await secrets.root.read('sys/internal/specs/openapi').expect(200)).body;
    for (const mount of ['jobs', 'scheduler']) expect(paths).toHaveProperty([`/${mount}/role/{name}`]);
  });
});
