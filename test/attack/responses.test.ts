import { smallAttacks } from './small-attack.ts';

smallAttacks({ G: 0.3, 'L-framing': 0.3, 'L-fuzz': 0.1, 'L-hints': 0.4, 'O-response': 0.3 });
