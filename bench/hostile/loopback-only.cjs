// Loaded before a service that gets generated addresses: it can reach only this machine.
const dns = require('node:dns');
const net = require('node:net');

const isHere = (host) => host === 'localhost' || /^127\./.test(host) || host === '::1';
const unreachable = (host) => Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });

const { lookup } = dns;
dns.lookup = (host, ...rest) => {
  if (isHere(host) || net.isIP(host) !== 0) return lookup.call(dns, host, ...rest);
  process.nextTick(() => rest.at(-1)(unreachable(host)));
};

const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...args) {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = first?.host;
  if (typeof host !== 'string' || net.isIP(host) === 0 || isHere(host)) return connect.apply(this, args);
  process.nextTick(() => this.destroy(unreachable(host)));
  return this;
};
