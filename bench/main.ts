import { benchEngine } from './engine.ts';
import { benchPlan } from './bench-plan.ts';

benchEngine(benchPlan());
