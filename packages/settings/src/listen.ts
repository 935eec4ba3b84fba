/** The TLS settings of a listener, as PEM. */
export interface Tls {
  key: string;
  cert: string;
  /** Request a client certificate. Any certificate or none is accepted; nothing is verified. */
  clientCertificates?: boolean;
}

/** The address for listening. Port 0 takes a free port. */
export interface Listen {
  host: string;
  port: number;
  tls?: Tls;
}
