import type { OwnPageProps } from '../own-page';
import { KeyPage } from './key-page';
import { Keys } from './keys';
import { NewKey } from './new-key';

/** The pages of a totp mount. */
export default function Totp({ mount: { path }, name, create }: OwnPageProps) {
  if (create) return <NewKey mount={path} />;
  return name === undefined ? <Keys mount={path} /> : <KeyPage key={name} mount={path} name={name} />;
}
