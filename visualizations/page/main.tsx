/** Begins the page. */

import { render } from 'preact';
import './styles/tokens.css';
import './styles/picture.css';
import './styles/chart-states.css';
import './styles/shell.css';
import './styles/controls.css';
import './styles/dialog.css';
import './styles/fleet.css';
import './styles/fleet-list.css';
import './styles/fleet-table.css';
import './styles/chart.css';
import './styles/sequence.css';
import './styles/panel.css';
import './styles/login.css';
import './styles/attempts.css';
import './styles/tools.css';
import './styles/questions.css';
import './styles/what-if.css';
import { connect, followTokens } from './state/link.ts';
import { followAddress } from './state/moments.ts';
import { restorePanel } from './state/panel.ts';
import { restoreTheme } from './state/theme.ts';
import { App } from './views/app.tsx';

restoreTheme();
restorePanel();
followAddress();
followTokens();
const page = document.querySelector('#page');
if (page === null) throw new Error('the page has no place to draw into');
render(<App />, page);
void connect();
