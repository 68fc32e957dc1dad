import { benchEngine } from './engine.ts';
import { benchFootprint } from './footprint.ts';
import { benchPlan } from './bench-plan.ts';

if (process.argv[2] === 'footprint') await benchFootprint();
else benchEngine(benchPlan());
