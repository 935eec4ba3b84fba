/** Of this program, as its console shows it. */
export const version = '0.2.0';
