import { expect, it } from '@jest/globals';
import { Remote } from './remote';

it('an import names the host that does not answer, which may be the host of a link', async () => {
  const remote = new Remote('harbour', 'http://127.0.0.1:9', 'token', { patient: false });
  await expect(remote.get('ping')).rejects.toThrow(/^harbour cannot be reached: /);
  await expect(remote.upload('http://127.0.0.1:10/x', Buffer.from('x'))).rejects.toThrow(
    /^127\.0\.0\.1:10, the host of a link from harbour \(WORKSPACES_PUBLIC_URL\), cannot be reached: /,
  );
});
