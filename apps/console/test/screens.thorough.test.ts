// Separate from the journeys, because opening every page several times takes minutes of one processor.
import './journeys/screens';
