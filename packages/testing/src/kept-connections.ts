import http, { type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Keeps connections open between the requests of a test: a new connection costs as much as the request. */
export const keptConnections = new http.Agent({ keepAlive: true });

/** Where a server of this process listens. */
export const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
