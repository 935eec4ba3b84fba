// Asks the service in this container whether it is ready: exit code 0 or 1. Usage: healthcheck.cjs SECRETS 8200
const [prefix, port] = process.argv.slice(2);
const tls = process.env[`${prefix}_TLS_CERT_FILE`] !== undefined;
const { request } = tls ? require('node:https') : require('node:http');
const call = request(
  {
    host: '127.0.0.1',
    port: process.env[`${prefix}_PORT`] ?? port,
    path: '/readyz',
    timeout: 2500,
    // The certificate names the host that clients use, never this address.
    rejectUnauthorized: false,
  },
  (answer) => process.exit(answer.statusCode === 200 ? 0 : 1),
);
call.on('timeout', () => process.exit(1));
call.on('error', () => process.exit(1));
call.end();
