import { smallAttacks } from './small-attack.ts';

smallAttacks({ 'P-errors': 0.3, 'P-fields': 0.2, 'P-kept': 0.2, 'P-responses': 0.2, 'P-targets': 0.2 });
