// Loads what improves a page that already works; each module says what for.
import './changed.js';
import './chart.js';
import './copy.js';
import './dialog.js';
import './draft.js';
import './filter.js';
import './fleetmap.js';
import './keys.js';
import './lines.js';
import './live.js';
import './logs.js';
import './menu.js';
import './nav.js';
import './palette.js';
import './rule.js';
import './shortcuts.js';
import './sort.js';
import './submit.js';
import './sizetable.js';
import './summary.js';
import './tabs.js';
import './theme.js';
import './ticks.js';
import './time.js';
import './toast.js';
import './tour.js';
import './try.js';
import './validate.js';

// Sheets show by this class what only scripts can do, copy buttons for example.
document.documentElement.classList.add('gp-scripted');
