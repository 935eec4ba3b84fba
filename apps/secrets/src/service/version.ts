/** Of this program: in the OpenAPI document and the history of releases. */
export const version = '0.2.0';

/** What clients are told in sys/health and sys/seal-status: up to which version of the interface they may ask. Decision 0010. */
export const interfaceVersion = `1.19.0+keystead.${version}`;
