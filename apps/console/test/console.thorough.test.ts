// One file, because an installation and a browser take longer to start than most journeys take to walk.
import './journeys/secrets';
import './journeys/workspaces';
import './journeys/organization';
import './journeys/doors';
import './journeys/first-day';
import './journeys/session';
import './journeys/one-sign-in';
import './journeys/keyboard';
