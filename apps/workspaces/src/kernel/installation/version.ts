/** Of this program, as its console says it. */
export const version = '0.1.0';
