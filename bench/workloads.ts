// Every workload, in the order in which they run.

import { l1Lists } from "./l1-lists.ts";
import { w1Drain } from "./w1-drain.ts";
import { w6Intake } from "./w6-intake.ts";
import { w12Cost } from "./w12-cost.ts";
import type { Workload } from "./workload.ts";

export const WORKLOADS: readonly Workload[] = [w1Drain, w6Intake, w12Cost, l1Lists];
