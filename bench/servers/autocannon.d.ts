declare module 'autocannon' {
  namespace autocannon {
    /** One request, as it may be changed just before it is sent. */
    interface Request {
      method?: string;
      path?: string;
      headers?: Record<string, string>;
      body?: string;
    }
    /** The parts of a result that are read here. */
    interface Result {
      non2xx: number;
      errors: number;
      timeouts: number;
      duration: number;
      requests: { total: number };
      latency: { p50: number; p99: number };
    }
  }
  function autocannon(options: {
    url: string;
    connections: number;
    duration: number;
    headers?: Record<string, string>;
    requests: { method?: string; setupRequest(request: autocannon.Request): autocannon.Request }[];
  }): Promise<autocannon.Result>;
  export = autocannon;
}
