import { render } from 'preact';
import { InspectorPage } from './inspector-page.tsx';

const root = document.getElementById('page');
if (root !== null) render(<InspectorPage />, root);
