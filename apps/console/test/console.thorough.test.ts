// Few files, because an installation and a browser take longer to start than most journeys take to walk; more than one, because
// together they would take longer than all other tests.
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
