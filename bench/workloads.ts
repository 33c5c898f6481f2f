// All workloads in the order in which they run.

import { c1Clicks } from "./c1-clicks.ts";
import { contested } from "./contested.ts";
import { l1Lists } from "./l1-lists.ts";
import { m1Money } from "./m1-money.ts";
import { mix } from "./mix.ts";
import { w1Drain } from "./w1-drain.ts";
import { w2MonthsEnd } from "./w2-months-end.ts";
import { w3FirstWord } from "./w3-first-word.ts";
import { w4Neighbour } from "./w4-neighbour.ts";
import { w5History } from "./w5-history.ts";
import { w6Intake } from "./w6-intake.ts";
import { w7Memory } from "./w7-memory.ts";
import { w8Peers } from "./w8-peers.ts";
import { w9Processes } from "./w9-processes.ts";
import { w10DueRows } from "./w10-due-rows.ts";
import { w11Windows } from "./w11-windows.ts";
import { w12Cost } from "./w12-cost.ts";
import { w13LowLoad } from "./w13-low-load.ts";
import { w14Readers } from "./w14-readers.ts";
import { w15ColdHosts } from "./w15-cold-hosts.ts";
import { w16Steady } from "./w16-steady.ts";
import type { Workload } from "./workload.ts";

export const WORKLOADS: readonly Workload[] = [
	w1Drain,
	w2MonthsEnd,
	w3FirstWord,
	w4Neighbour,
	w5History,
	w6Intake,
	w7Memory,
	w8Peers,
	w9Processes,
	w10DueRows,
	w11Windows,
	w12Cost,
	w13LowLoad,
	w14Readers,
	w15ColdHosts,
	w16Steady,
	mix,
	contested,
	l1Lists,
	c1Clicks,
	m1Money,
];
