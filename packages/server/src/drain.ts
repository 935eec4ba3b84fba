import type http from 'node:http';

const sweepMs = 25;

/**
 * Ends a server without cutting off an answer.
 *
 * No new connection is accepted, idle ones are closed at once and busy ones after their answer; whatever is still open
 * after `seconds` is closed by force.
 */
export function drain(server: http.Server, seconds: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection that has just become idle is only noticed by asking again.
    const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
    const force = setTimeout(() => server.closeAllConnections(), seconds * 1000);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
