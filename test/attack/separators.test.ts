import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'P-errors': 0.5, 'P-fields': 0.5, 'P-kept': 0.3, 'P-responses': 0.5, 'P-targets': 0.6 });
