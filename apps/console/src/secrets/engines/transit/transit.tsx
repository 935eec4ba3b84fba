import type { OwnPageProps } from '../own-page';
import { KeyPage } from './key-page';
import { Keys } from './keys';

/** The keys of a transit mount. */
export default function Transit({ mount: { path }, name }: OwnPageProps) {
  return name === undefined ? <Keys mount={path} /> : <KeyPage key={`${path} ${name}`} mount={path} name={name} />;
}
