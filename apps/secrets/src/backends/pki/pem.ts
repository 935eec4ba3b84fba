import * as pem from '../../sdk/pem';

const longest = 1 << 20;

/** The blocks of a text; what is between them is passed over, as is what comes after the first MiB. */
export const pemBlocks = (text: string): pem.PemBlock[] => pem.pemBlocks(text.slice(0, longest));
