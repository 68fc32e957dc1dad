import { h, render } from 'preact';
import { InspectorPage } from './inspector-page.ts';

const root = document.getElementById('page');
if (root !== null) render(h(InspectorPage, null), root);
