/** Of this program: in the OpenAPI document and the history of releases. */
export const version = '0.2.0';

/** The version in sys/health and sys/seal-status: clients use the interface up to it. Decision 0010. */
export const interfaceVersion = `1.19.0+keystead.${version}`;
