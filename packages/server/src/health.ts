import type { IncomingMessage, ServerResponse } from 'node:http';

/** Whether a service can do its work now, and the reasons if it cannot. */
export interface Readiness {
  ready: boolean;
  reasons: string[];
}

const patienceMs = 2000;

/**
 * Answers `/livez` and `/readyz`, and returns whether it did.
 *
 * `/livez` is 200 as long as the process can answer at all. `/readyz` is 200 or 503 with the reasons; a check that
 * fails or takes longer than two seconds is itself a reason. Neither needs authentication or writes log lines.
 */
export function answerHealth(req: IncomingMessage, res: ServerResponse, ready: () => Promise<Readiness>): boolean {
  if (req.url === '/livez') {
    send(req, res, 200, { alive: true });
    return true;
  }
  if (req.url !== '/readyz') return false;
  void withPatience(ready).then((state) => send(req, res, state.ready ? 200 : 503, state));
  return true;
}

async function withPatience(ready: () => Promise<Readiness>): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Readiness>((resolve) => {
    timer = setTimeout(resolve, patienceMs, { ready: false, reasons: ['the readiness check takes too long'] });
  });
  try {
    return await Promise.race([ready(), late]);
  } catch {
    return { ready: false, reasons: ['the readiness check failed'] };
  } finally {
    clearTimeout(timer);
  }
}

function send(req: IncomingMessage, res: ServerResponse, status: number, state: object): void {
  const body = JSON.stringify(state);
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  });
  res.end(req.method === 'HEAD' ? undefined : body);
}
