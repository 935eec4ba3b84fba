// Asks the service in this container whether it is healthy: exit code 0 or 1. Usage: healthcheck.cjs SECRETS 8200
const [prefix, port] = process.argv.slice(2);
const tls = process.env[`${prefix}_TLS_CERT_FILE`] !== undefined;
const { request } = tls ? require('node:https') : require('node:http');

// A service that waits for people is not ready for requests, but restarting it would not help.
const waitsForPeople = /^(not initialised|sealed|the clock of this machine .*|shutting down)$/;

function isWell(status, text) {
  if (status === 200) return true;
  try {
    const { reasons } = JSON.parse(text);
    return reasons.length > 0 && reasons.every((reason) => waitsForPeople.test(reason));
  } catch {
    return false;
  }
}

const call = request(
  {
    host: '127.0.0.1',
    port: process.env[`${prefix}_PORT`] ?? port,
    path: '/readyz',
    timeout: 2500,
    // The certificate names the host that clients use, never this address.
    rejectUnauthorized: false,
  },
  (answer) => {
    let text = '';
    answer.on('data', (chunk) => {
      text += chunk;
    });
    answer.on('end', () => process.exit(isWell(answer.statusCode, text) ? 0 : 1));
  },
);
call.on('timeout', () => process.exit(1));
call.on('error', () => process.exit(1));
call.end();
