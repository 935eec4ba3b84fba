import net, { type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import type { LdapConfig } from './config';
import { DirectoryConnection } from './connection';

it('a login gives up a directory whose answer is larger than 8 MiB', async () => {
  // The header of a two-gigabyte message, then bytes for as long as the client reads.
  const server = net.createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write(Buffer.from('30847fffffff', 'hex'));
        const more = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(256 * 1024, 'x')));
        };
        socket.on('drain', more);
        more();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = { tls_min_version: 'tls12', tls_max_version: 'tls12', request_timeout: 60, connection_timeout: 60 };
  const connection = new DirectoryConnection(`ldap://127.0.0.1:${port}`, config as LdapConfig);
  await expect(connection.run((client) => client.bind('cn=a', 'b'))).rejects.toThrow('the answer is larger than 8 MiB');
  await new Promise((resolve) => server.close(resolve));
});
