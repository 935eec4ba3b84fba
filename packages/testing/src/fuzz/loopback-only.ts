import dns from 'node:dns';
import net from 'node:net';

// Loaded into a service that gets made-up addresses, so that it can reach only this machine.

const isHere = (host: string) => host === 'localhost' || /^127\./.test(host) || host === '::1';

function unreachable(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND', syscall: 'getaddrinfo' });
}

const lookup = dns.lookup as (...args: unknown[]) => void;
Object.assign(dns, {
  lookup(host: string, ...rest: unknown[]) {
    if (isHere(host) || net.isIP(host) !== 0) return lookup.call(dns, host, ...rest);
    const callback = rest.at(-1) as (error: Error) => void;
    process.nextTick(() => callback(unreachable(host)));
  },
});

const connect = net.Socket.prototype.connect as (...args: unknown[]) => net.Socket;
net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]): net.Socket {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const { host } = (typeof first === 'object' && first !== null ? first : {}) as { host?: string };
  if (typeof host === 'string' && net.isIP(host) !== 0 && !isHere(host)) {
    process.nextTick(() => this.destroy(unreachable(host)));
    return this;
  }
  return connect.apply(this, args);
};
