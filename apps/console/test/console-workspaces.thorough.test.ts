import './journeys/workspaces';
import './journeys/organization';
import './journeys/first-day';
import './journeys/one-sign-in';
import './journeys/passkeys';
import './journeys/registry';
import './journeys/many-workspaces';
