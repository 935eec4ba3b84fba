import http from 'node:http';
import type { AddressInfo } from 'node:net';

// A scheduler that accepts and counts revocations of due leases.

let ended = 0;
const server = http.createServer((request, response) => {
  request.resume();
  if (request.method === 'DELETE') ended++;
  response.setHeader('content-type', 'application/json');
  response.end(request.url === '/ended' ? JSON.stringify({ ended }) : '{}');
});
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`));
