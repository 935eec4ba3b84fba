// The journeys are in few files, because starting an installation and a browser takes longer than most journeys. They
// are in more than one, because all journeys in one file would take longer than all other tests.
import './journeys/secrets';
import './journeys/transit';
import './journeys/pki';
import './journeys/database';
import './journeys/ssh';
import './journeys/totp';
import './journeys/kubernetes';
import './journeys/links-from-elsewhere';
import './journeys/session';
import './journeys/keyboard';
