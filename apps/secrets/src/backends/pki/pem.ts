import * as pem from '../../sdk/pem';

const longest = 1 << 20;

/** The PEM blocks in a string. Ignores text between them and everything after the first MiB. */
export const pemBlocks = (text: string): pem.PemBlock[] => pem.pemBlocks(text.slice(0, longest));
