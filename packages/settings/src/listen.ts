/** The TLS settings of a listener, as PEM. */
export interface Tls {
  key: string;
  cert: string;
  /** Request a client certificate. Any certificate is accepted, and also none; nothing is verified. */
  clientCertificates?: boolean;
}

/** Where to listen; port 0 takes a free one. */
export interface Listen {
  host: string;
  port: number;
  tls?: Tls;
}
