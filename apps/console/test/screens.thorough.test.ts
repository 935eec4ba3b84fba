// Apart from the journeys: it opens every page several times, which takes minutes of one processor.
import './journeys/screens';
